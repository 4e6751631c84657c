// Implements ReportCrashes(): handlers of signals around those of Abseil, and
// an unwinder that needs no frame pointers.
#include "server/crash_report.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "absl/debugging/failure_signal_handler.h"
#include "absl/debugging/stacktrace.h"
#include "absl/debugging/symbolize.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "models/build_identity.h"
#include "server/log.h"
#include "server/reason_file.h"

namespace ferry {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
// How long Abseil's handler may take before it aborts.
constexpr int kMaxSeconds = 10;
// How long the log may have no room, in all.
constexpr Duration kWriteTime = std::chrono::seconds(1);

// Written before the handlers are there.
void (*tell_frames)(int, siginfo_t*, void*) = nullptr;  // Abseil's
std::terminate_handler terminate_before = nullptr;
int null_fd = -1;

std::atomic<pid_t> crashed_thread{0};  // the first
// That thread's.
int crash = 0;
char summary[1024];
TimePoint write_until;

// By the thread that terminates, before it crashes.
char thrown[256] = "";

// What _Unwind_Backtrace() fills.
struct Frames {
  void** const pcs;
  int* const sizes;
  const int max_count;
  int skip_count;
  int count = 0;
  uintptr_t begin = 0;  // of the frame before
};

_Unwind_Reason_Code AddFrame(_Unwind_Context* context, void* argument) {
  Frames& frames = *static_cast<Frames*>(argument);
  int is_interrupted = 0;  // by a signal: those before are of its handler
  const uintptr_t pc = _Unwind_GetIPInfo(context, &is_interrupted);
  const uintptr_t begin = _Unwind_GetCFA(context);
  if (is_interrupted != 0) {
    frames.count = 0;
    frames.skip_count = 0;
  }
  if (pc == 0 || frames.count == frames.max_count) {
    return _URC_END_OF_STACK;
  }
  if (frames.skip_count > 0) {
    --frames.skip_count;
  } else {
    frames.pcs[frames.count] = reinterpret_cast<void*>(pc);
    if (frames.sizes != nullptr) {
      frames.sizes[frames.count] = 0;  // until the next one is known
      if (frames.count > 0) {
        frames.sizes[frames.count - 1] = static_cast<int>(begin - frames.begin);
      }
    }
    ++frames.count;
  }
  frames.begin = begin;
  return _URC_NO_REASON;
}

// Abseil's own unwinder follows frame pointers, which neither optimized code
// nor LibTorch has; this one reads the tables for exceptions, as glibc 2.35 and
// newer find them without a lock.
int Unwind(void** pcs, int* sizes, int max_depth, int skip_count, const void*,
           int* min_dropped_frames) {
  Frames frames = {.pcs = pcs,
                   .sizes = sizes,
                   .max_count = max_depth,
                   .skip_count = skip_count + 1};
  _Unwind_Backtrace(&AddFrame, &frames);
  if (min_dropped_frames != nullptr) {
    *min_dropped_frames = 0;  // those past max_depth are not counted
  }
  return frames.count;
}

// Ends the process.
void DieOf(int number) {
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// Writes a line where there is room for it, or comes to be in time.
void WriteToLog(absl::string_view text) {
  const Duration left =
      std::max(write_until - Clock::Steady().Now(), Duration(0));
  const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left);
  pollfd room = {LogFd(), POLLOUT, 0};
  if (poll(&room, 1, static_cast<int>(left_ms.count())) == 1) {
    [[maybe_unused]] const ssize_t written =
        write(room.fd, text.data(), text.size());
  }
}

// Takes Abseil's lines; null is their end.
void TakeLine(const char* line) {
  if (line == nullptr) {
    WriteToLog(summary);
    return;
  }
  WriteToLog(line);
  AppendReason(line);
}

void Summarize(int number, const siginfo_t& info) {
  char cause[64] = "";
  if (info.si_code <= 0 && info.si_pid != getpid()) {
    std::snprintf(cause, sizeof(cause), " sent_by_pid=%d", info.si_pid);
  } else if (info.si_code > 0) {
    std::snprintf(cause, sizeof(cause), " address=0x%zx",
                  reinterpret_cast<uintptr_t>(info.si_addr));
  }
  char thread[32] = "";
  pthread_getname_np(pthread_self(), thread, sizeof(thread));
  std::snprintf(summary, sizeof(summary),
                "ferry-server crashed: SIG%s%s thread=%s build=%s%s%s\n",
                sigabbrev_np(number), cause, thread, BuildIdentity(),
                thrown[0] == '\0' ? "" : " thrown: ", thrown);
}

void TellCrash(int number, siginfo_t* info, void* context) {
  pid_t first = 0;
  if (!crashed_thread.compare_exchange_strong(first, gettid())) {
    if (first != gettid()) {  // whose telling ends the process
      poll(nullptr, 0, (kMaxSeconds + 2) * 1000);
      DieOf(number);
    }
    WriteToLog(summary);
    DieOf(crash);
  }
  crash = number;
  Summarize(number, *info);
  AppendReason(summary);
  FlushLogInHandler();
  write_until = Clock::Steady().Now() + kWriteTime;
  dup2(null_fd, STDERR_FILENO);
  tell_frames(number, info, context);
}

// Keeps the first line of what was thrown.
void KeepThrown() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    std::snprintf(thrown, sizeof(thrown), "%s", error.what());
  } catch (...) {
    std::snprintf(thrown, sizeof(thrown), "no std::exception");
  }
  for (char* at = thrown; *at != '\0'; ++at) {
    if (*at == '\n') {
      *at = '\0';
      return;
    }
    if (static_cast<unsigned char>(*at) < ' ') {
      *at = '?';
    }
  }
}

[[noreturn]] void Terminate() {
  if (std::current_exception() != nullptr) {
    KeepThrown();
  }
  terminate_before();
  std::abort();
}

}  // namespace

void ReportCrashes() {
  null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  terminate_before = std::set_terminate(&Terminate);
  absl::InitializeSymbolizer("/proc/self/exe");
  absl::SetStackUnwinder(&Unwind);
  // Abseil takes SIGTERM for a crash.
  struct sigaction on_term = {};
  sigaction(SIGTERM, nullptr, &on_term);
  absl::FailureSignalHandlerOptions options;
  options.alarm_on_failure_secs = kMaxSeconds;
  options.writerfn = &TakeLine;
  absl::InstallFailureSignalHandler(options);
  sigaction(SIGTERM, &on_term, nullptr);
  for (const int number : kCrashes) {
    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    tell_frames = action.sa_sigaction;
    action.sa_sigaction = &TellCrash;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace ferry
