// ServerLife says when one server is started, started again, and left alone. It
// has no clock and no process: it is told what happened and when.
//
// A server that ends by itself with 0 was drained on demand and stays down.
// One that ends otherwise is started again after a delay: `first`, and twice as
// long after each further failure, up to `most`. The count of failures begins
// anew where the server had been ready for `healthy`. It is never given up:
// what it lacks, a device or a folder, may come.
//
// A process that was killed is gone at once, unless a driver or the kernel
// holds a thread of it, whose call no signal ends. After kGone it is stuck: its
// server is started again once it is gone after all, and where it was told to
// stop it is waited for no longer.
//
// Thread safety: thread-compatible.
// Invariants:
// 1. kStopped is the end: nothing leaves it.
// 2. MustStart() is never true sooner than `first` after a failure, so no
//    failure makes a busy loop.
#ifndef FERRY_DEPLOY_LAUNCH_SERVER_LIFE_H_
#define FERRY_DEPLOY_LAUNCH_SERVER_LIFE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace ferry::launch {

struct BackOff {
  Duration first = Milliseconds(500);
  Duration most = Milliseconds(30'000);
  Duration healthy = Milliseconds(60'000);
};

enum class LifeState {
  kWaiting,   // for its next start
  kStarting,  // runs, and was not ready yet
  kReady,
  kNotReady,  // was ready: drains, or is lost
  kStuck,     // was killed, and is not gone
  kStopping,  // was told to
  kStopped,
};

const char* LifeStateName(LifeState state);

// How a process ended: by exit code, or by a signal.
struct ProcessEnd {
  int code = 0;
  int signal = 0;  // 0: none

  bool is_success() const { return code == 0 && signal == 0; }
};

// Returns "exit code 1 (could not start)", "SIGKILL".
std::string DescribeEnd(const ProcessEnd& end);

class ServerLife {
 public:
  // In which a process that was killed is gone.
  static constexpr Duration kGone = std::chrono::seconds(5);

  // To be started at once.
  ServerLife(const BackOff& back_off, TimePoint now)
      : back_off_(back_off), next_start_(now) {}

  LifeState state() const { return state_; }
  bool is_running() const {
    return state_ != LifeState::kWaiting && state_ != LifeState::kStopped;
  }
  // After the first start.
  int64_t restarts() const { return starts_ > 0 ? starts_ - 1 : 0; }
  // In a row that failed before the server was ready.
  int64_t failed_starts() const { return failed_starts_; }
  // How the last process ended.
  const std::optional<ProcessEnd>& last_end() const { return last_end_; }

  // kNever where it does not wait for a start.
  TimePoint next_start() const {
    return state_ == LifeState::kWaiting ? next_start_ : kNever;
  }
  bool MustStart(TimePoint now) const { return next_start() <= now; }
  // When a process that was killed has to be gone; kNever: none was, or it was
  // told that it is not.
  TimePoint gone_by() const { return gone_by_; }

  // REQUIRES: MustStart().
  void Started();
  // No process could be made.
  // REQUIRES: MustStart().
  void StartFailed(TimePoint now);
  // What its health answers. Ignored unless it runs and was not told to stop,
  // and where it is stuck.
  void Answered(bool is_ready, TimePoint now);
  // REQUIRES: is_running().
  void Ended(const ProcessEnd& end, TimePoint now);
  // It was sent SIGKILL, which may be told more than once.
  // REQUIRES: is_running().
  void Killed(TimePoint now);
  // Returns true, once, where it was killed and is not gone in time: then it is
  // stuck, or stopped where it was told to stop.
  bool IsStuck(TimePoint now);
  // From now on it is not started again; one that is stuck has stopped.
  void Stop();

 private:
  void WaitForRestart(TimePoint now);

  const BackOff back_off_;
  LifeState state_ = LifeState::kWaiting;
  TimePoint next_start_;
  TimePoint gone_by_ = kNever;
  Duration delay_{0};  // before the last restart; 0: none since it was healthy
  std::optional<TimePoint> ready_since_;  // of this process
  int64_t starts_ = 0;
  int64_t failed_starts_ = 0;
  std::optional<ProcessEnd> last_end_;
};

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_SERVER_LIFE_H_
