// Implements the sinks: a file, and cpp-httplib's client.
#include "server/trace/trace_sink.h"

#include <fcntl.h>
#include <httplib.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace ferry {
namespace {

constexpr char kTracesPath[] = "/v1/traces";
constexpr std::chrono::seconds kLongest{2};

class FileSink final : public TraceSink {
 public:
  explicit FileSink(int fd) : fd_(fd) {}
  ~FileSink() override { close(fd_); }

  bool Write(absl::string_view text) override {
    // What a full disk has cut ends there: the next line is whole.
    if (is_cut_ && !Append("\n")) {
      return false;
    }
    is_cut_ = false;
    return Append(text);
  }

 private:
  bool Append(absl::string_view text) {
    const TimePoint until = Clock::Steady().Now() + kLongest;
    for (size_t at = 0; at < text.size();) {
      const ssize_t wrote = write(fd_, text.data() + at, text.size() - at);
      if (wrote >= 0) {
        at += static_cast<size_t>(wrote);
      } else if (errno != EINTR && !(errno == EAGAIN && AwaitRoom(until))) {
        is_cut_ = is_cut_ || at > 0;
        return false;
      }
    }
    return true;
  }

  // Waits until a pipe has room; false where it has none at `until`.
  bool AwaitRoom(TimePoint until) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        until - Clock::Steady().Now());
    pollfd pipe = {.fd = fd_, .events = POLLOUT, .revents = 0};
    return left.count() > 0 &&
           poll(&pipe, 1, static_cast<int>(left.count())) != 0;
  }

  const int fd_;
  bool is_cut_ = false;
};

class Collector final : public TraceSink {
 public:
  Collector(const std::string& host, int port) : client_(host, port) {
    client_.set_connection_timeout(kLongest);
    client_.set_read_timeout(kLongest);
    client_.set_write_timeout(kLongest);
    client_.set_keep_alive(true);
  }

  bool Write(absl::string_view text) override {
    const httplib::Result reply =
        client_.Post(kTracesPath, text.data(), text.size(), "application/json");
    return reply && reply->status / 100 == 2;
  }

 private:
  httplib::Client client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TraceSink>> OpenTraceFile(
    absl::string_view flag, const std::string& path) {
  // A pipe that nothing reads is not waited for.
  const int fd =
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK,
           0640);
  if (fd < 0) {
    return absl::UnavailableError(absl::StrCat(flag, ": cannot open '", path,
                                               "': ", std::strerror(errno)));
  }
  return std::make_unique<FileSink>(fd);
}

std::unique_ptr<TraceSink> OpenCollector(const TraceEndpoint& endpoint) {
  return std::make_unique<Collector>(endpoint.host, endpoint.port);
}

}  // namespace ferry
