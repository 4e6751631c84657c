// Implements ServiceNotice by datagrams to the socket that systemd names.
#include "server/service_notice.h"

#include <errno.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace ferry {
namespace {

// How long a message waits where systemd does not read.
constexpr timeval kMaxWait = {.tv_sec = 0, .tv_usec = 100'000};

// Whether it is an address of a kind that ServiceNotice knows. systemd names
// no others in a service that it starts on the same machine.
bool IsAddress(const std::string& address) {
  return address.size() > 1 && (address[0] == '/' || address[0] == '@') &&
         address.size() < sizeof(sockaddr_un::sun_path);
}

}  // namespace

ServiceNotice::ServiceNotice(const char* address)
    : address_(address == nullptr ? "" : address) {
  if (address_.empty()) {
    return;
  }
  if (!IsAddress(address_)) {
    spdlog::warn(
        "NOTIFY_SOCKET: expected a path or '@' and a name, got '{}': systemd "
        "is told nothing",
        PrintableText(address_));
    address_.clear();
    return;
  }
  if (address_[0] == '@') {
    address_[0] = '\0';
  }
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kMaxWait, sizeof(kMaxWait));
}

ServiceNotice::~ServiceNotice() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

void ServiceNotice::Serves(absl::string_view status) {
  Send(absl::StrCat("READY=1\nWATCHDOG=1\nSTATUS=", PrintableText(status)));
}

void ServiceNotice::Stops(absl::string_view why) {
  Send(absl::StrCat("STOPPING=1\nSTATUS=", PrintableText(why)));
}

void ServiceNotice::Send(const std::string& text) {
  if (address_.empty()) {
    return;
  }
  sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = {}};
  std::copy(address_.begin(), address_.end(), to.sun_path);
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const ssize_t sent = sendto(fd_, text.data(), text.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&to), length);
  if (sent < 0 && !has_failed_) {
    has_failed_ = true;
    spdlog::warn("cannot tell systemd that '{}': {}",
                 PrintableText(text.substr(0, text.find('\n'))),
                 strerror(errno));
  }
}

}  // namespace ferry
