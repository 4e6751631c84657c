// Implements the log with spdlog, a LineWriter, and a pipe for libraries.
#include "server/log.h"

#include <errno.h>
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/line_writer.h"
#include "base/mutex.h"
#include "base/printable_text.h"

namespace ferry {
namespace {

constexpr size_t kMaxQueuedBytes = 1 << 20;
constexpr size_t kMaxLineBytes = 64 << 10;
constexpr Duration kFlushTime = std::chrono::milliseconds(500);
constexpr int kFlushPollMs = 1;
constexpr Duration kGrpcErrorEvery = std::chrono::seconds(1);
// Text without an end of line is logged after so long.
constexpr int kLineEndMs = 100;

// Returns a text as it stands in the log: a stranger's name or reason within it
// can neither look like a record of its own nor act on a terminal.
std::string AsRecord(absl::string_view text) {
  std::vector<std::string> lines;
  for (const absl::string_view line :
       absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    lines.push_back(PrintableText(line, kMaxLineBytes));
  }
  return absl::StrJoin(lines, "\n    ");
}

// Returns a text as a string of JSON, of ASCII alone.
std::string AsJson(absl::string_view text) {
  return nlohmann::json(text.substr(0, kMaxLineBytes))
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

class RecordWriter {
 public:
  explicit RecordWriter(LogFormat format)
      : format_(format),
        formatter_(
            format == LogFormat::kJson
                ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%v})"
                : "%Y-%m-%dT%H:%M:%S.%e%z %l %v") {}

  // Returns its line, with the end.
  std::string Line(const spdlog::details::log_msg& message) {
    const absl::string_view said(message.payload.data(),
                                 message.payload.size());
    const std::string text =
        format_ == LogFormat::kJson ? AsJson(said) : AsRecord(said);
    spdlog::details::log_msg shown = message;
    shown.payload = text;
    spdlog::memory_buf_t line;
    formatter_.format(shown, line);
    return std::string(line.data(), line.size());
  }

 private:
  const LogFormat format_;
  spdlog::pattern_formatter formatter_;
};

std::string DroppedRecord(LogFormat format, uint64_t count) {
  const std::string text = absl::StrCat(
      "the log dropped lines, as standard error was not read "
      "count=",
      count);
  return RecordWriter(format).Line(
      spdlog::details::log_msg("ferry", spdlog::level::warn, text));
}

class WriterSink final : public spdlog::sinks::sink {
 public:
  WriterSink(LineWriter& writer, LogFormat format)
      : writer_(writer), records_(format) {}

  void log(const spdlog::details::log_msg& message) override {
    std::string line;
    {
      MutexLock lock(mutex_);
      line = records_.Line(message);
    }
    writer_.Write(std::move(line));
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  LineWriter& writer_;
  Mutex mutex_;
  RecordWriter records_ ABSL_GUARDED_BY(mutex_);
};

// What libraries write, as lines of the log.
class OutputPipe {
 public:
  // Takes the place of standard output and standard error.
  explicit OutputPipe(std::shared_ptr<spdlog::logger> logger)
      : logger_(std::move(logger)) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return;
    }
    reader_ = ends[0];
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { Run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      dup2(ends[1], fd);
    }
    close(ends[1]);
  }

  // Whether it could be opened, and is read.
  bool is_open() const { return reader_ >= 0; }

  // Whether something was written that is not in the log yet.
  bool HasMore() const {
    int bytes = 0;
    return is_open() && ((ioctl(reader_, FIONREAD, &bytes) == 0 && bytes > 0) ||
                         is_logging_.load(std::memory_order_seq_cst));
  }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "ferry-output");
    std::string rest;
    char bytes[4096];
    for (;;) {
      pollfd readable = {reader_, POLLIN, 0};
      if (poll(&readable, 1, rest.empty() ? -1 : kLineEndMs) == 0) {
        LogText(std::exchange(rest, ""));  // its line does not end
        is_logging_.store(false, std::memory_order_seq_cst);
        continue;
      }
      is_logging_.store(true, std::memory_order_seq_cst);  // before it is read
      const ssize_t size = read(reader_, bytes, sizeof(bytes));
      if (size > 0) {
        rest.append(bytes, static_cast<size_t>(size));
        rest = LogLines(std::move(rest));
      } else if (size == 0 || errno != EINTR) {
        is_logging_.store(false, std::memory_order_seq_cst);
        return;
      }
      is_logging_.store(!rest.empty(), std::memory_order_seq_cst);
    }
  }

  // At the least level that is logged, as it may be why the process ends.
  void LogText(const std::string& text) {
    logger_->log(std::max(spdlog::level::warn, logger_->level()),
                 "a library wrote: {}", text);
  }

  // Returns what is no whole line yet.
  std::string LogLines(std::string text) {
    for (;;) {
      const size_t end = std::min(text.find('\n'), kMaxLineBytes);
      if (end >= text.size()) {
        return text;
      }
      LogText(text.substr(0, end));
      text.erase(0, end + (text[end] == '\n' ? 1 : 0));
    }
  }

  const std::shared_ptr<spdlog::logger> logger_;
  int reader_ = -1;
  std::atomic<bool> is_logging_{false};
};

struct Log {
  Log(int its_fd, LogFormat format)
      : fd(its_fd), writer(fd, kMaxQueuedBytes, [format](uint64_t count) {
          return DroppedRecord(format, count);
        }) {}

  const int fd;
  LineWriter writer;
  std::unique_ptr<OutputPipe> output;
};

// Never freed: threads log until the process has ended. Whole where it is not
// null: a signal may end the process while the log starts.
std::atomic<Log*> the_log{nullptr};

std::atomic<uint64_t> grpc_errors{0};
std::atomic<int64_t> next_grpc_error_ns{0};  // when the next one is logged

// No file of another kind gets the number of a stream that was closed.
void OpenStandardStreams() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  close(fd);
}

// A line is written when it ends, as on a terminal, not when a block is full.
void PrintByLines() {
  static char buffer[kMaxLineBytes];
  std::setvbuf(stdout, buffer, _IOLBF, sizeof(buffer));
}

// What was printed of a line that has not ended, unless that goes on now.
void FlushStandardOutput() {
  if (ftrylockfile(stdout) == 0) {
    fflush_unlocked(stdout);
    funlockfile(stdout);
  }
}

void FlushWritten(Log& log) {
  const TimePoint until = Clock::Steady().Now() + kFlushTime;
  while (log.output->HasMore() && Clock::Steady().Now() < until) {
    poll(nullptr, 0, kFlushPollMs);
  }
  log.writer.FlushBy(until);
}

// Why a process aborts stands in the pipe, or in the queue. It may abort within
// a call that prints.
void FlushAndAbort(int number) {
  FlushLogInHandler();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// A client may cause as many errors as it likes: one a second is logged.
void LogOfGrpc(gpr_log_func_args* args) {
  if (args->severity != GPR_LOG_SEVERITY_ERROR) {
    spdlog::debug("grpc: {}", args->message);
    return;
  }
  grpc_errors.fetch_add(1, std::memory_order_relaxed);
  const int64_t now_ns = ToNanos(Clock::Steady().Now());
  int64_t next_ns = next_grpc_error_ns.load(std::memory_order_relaxed);
  if (now_ns >= next_ns && next_grpc_error_ns.compare_exchange_strong(
                               next_ns, now_ns + kGrpcErrorEvery.count(),
                               std::memory_order_relaxed)) {
    spdlog::warn(
        "grpc: {}; one such line a second is logged, all are counted "
        "in ferry_grpc_errors_total",
        args->message);
  } else {
    spdlog::debug("grpc: {}", args->message);
  }
}

// A client's malformed text must not write a line.
void LogOfProtobuf(google::protobuf::LogLevel, const char*, int,
                   const std::string& message) {
  spdlog::debug("protobuf: {}", message);
}

}  // namespace

void StartLog(const LogOptions& options) {
  OpenStandardStreams();
  PrintByLines();
  auto* const log = new Log(
      fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), options.format);
  auto logger = std::make_shared<spdlog::logger>(
      "ferry", std::make_shared<WriterSink>(log->writer, options.format));
  logger->set_level(spdlog::level::from_str(options.level));
  logger->set_error_handler([](const std::string&) {});
  log->output = std::make_unique<OutputPipe>(logger);
  the_log.store(log, std::memory_order_seq_cst);
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(&LogOfGrpc);
  google::protobuf::SetLogHandler(&LogOfProtobuf);
  std::signal(SIGABRT, &FlushAndAbort);
}

void FlushLog() {
  Log* const log = the_log.load(std::memory_order_seq_cst);
  if (log == nullptr) {
    return;
  }
  if (log->output->is_open()) {  // what is not read holds up its writer
    FlushStandardOutput();
  }
  FlushWritten(*log);
}

void FlushLogInHandler() {
  if (Log* const log = the_log.load(std::memory_order_seq_cst)) {
    FlushWritten(*log);
  }
}

int LogFd() {
  const Log* const log = the_log.load(std::memory_order_seq_cst);
  return log == nullptr ? -1 : log->fd;
}

uint64_t DroppedLogLines() {
  const Log* const log = the_log.load(std::memory_order_seq_cst);
  return log == nullptr ? 0 : log->writer.dropped();
}

uint64_t GrpcErrors() { return grpc_errors.load(std::memory_order_relaxed); }

}  // namespace ferry
