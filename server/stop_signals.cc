// Implements StopSignals: a thread waits for signals and for the deadline.
#include "server/stop_signals.h"

#include <pthread.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/stray_signals.h"
#include "server/log.h"
#include "server/reason_file.h"

namespace ferry {
namespace {

constexpr int kFirstSignalExit = 128;
constexpr timespec kPollInterval = {.tv_sec = 0, .tv_nsec = 100'000'000};

bool IsIgnored(int number) {
  struct sigaction action = {};
  return sigaction(number, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

void ExitNow(int code) {
  FlushLog();
  _exit(code);
}

StopSignals::StopSignals(const Clock& clock) : clock_(clock) {
  IgnoreStraySignals();
  sigemptyset(&signals_);
  for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGUSR1}) {
    sigaddset(&signals_, number);
  }
  if (!IsIgnored(SIGHUP)) {
    sigaddset(&signals_, SIGHUP);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::thread([this] { Run(); });
}

StopSignals::~StopSignals() {
  {
    MutexLock lock(mutex_);
    is_done_ = true;
  }
  thread_.join();
}

void StopSignals::ExpectStop() {
  MutexLock lock(mutex_);
  is_expected_ = true;
}

void StopSignals::OnStateWanted(std::function<void()> tell) {
  MutexLock lock(tell_mutex_);
  tell_state_ = std::move(tell);
}

std::optional<int> StopSignals::WaitForStop(Duration at_most) {
  const TimePoint until = Clock::Steady().Now() + at_most;
  MutexLock lock(mutex_);
  while (!wish_.first().has_value() && Clock::Steady().Now() < until) {
    changed_.WaitUntil(mutex_, until);
  }
  return wish_.first();
}

void StopSignals::SleepUntil(TimePoint until) {
  MutexLock lock(mutex_);
  while (Clock::Steady().Now() < until) {
    changed_.WaitUntil(mutex_, until);
  }
}

void StopSignals::ExitBy(TimePoint deadline, int code) {
  MutexLock lock(mutex_);
  exit_by_ = deadline;
  exit_code_ = code;
}

void StopSignals::Run() {
  pthread_setname_np(pthread_self(), "ferry-signals");
  while (!IsDone()) {
    const int number = sigtimedwait(&signals_, nullptr, &kPollInterval);
    if (number == SIGUSR1) {
      TellState();
    } else if (number > 0) {
      Take(number);
    }
  }
}

void StopSignals::TellState() {
  MutexLock lock(tell_mutex_);
  if (tell_state_) {
    tell_state_();
  } else {
    spdlog::info("state: not serving: it starts or ends");
  }
}

void StopSignals::Take(int number) {
  bool must_exit = false;
  {
    MutexLock lock(mutex_);
    const StopWish::Kind kind = wish_.Take(number, clock_.Now());
    must_exit = !is_expected_ || kind == StopWish::Kind::kSecond;
    if (!must_exit && kind == StopWish::Kind::kFirst) {
      changed_.SignalAll();
    }
  }
  if (must_exit) {
    const std::string why =
        absl::StrCat("exits at once signal=", sigabbrev_np(number));
    spdlog::warn("{}", why);
    WriteReason(why, kFirstSignalExit + number);
    ExitNow(kFirstSignalExit + number);
  }
}

bool StopSignals::IsDone() {
  bool is_late = false;
  int code = kExitOk;
  {
    MutexLock lock(mutex_);
    if (is_done_) {
      return true;
    }
    is_late = Clock::Steady().Now() >= exit_by_;
    code = exit_code_;
  }
  if (is_late) {
    const char why[] = "exits: what was admitted was not finished in time";
    spdlog::error("{}", why);
    WriteReason(why, code);
    ExitNow(code);
  }
  return false;
}

}  // namespace ferry
