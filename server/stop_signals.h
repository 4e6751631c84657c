// StopSignals turns SIGTERM, SIGINT, SIGHUP and SIGQUIT into something the main
// thread waits for, and ends the process where it must end now. SIGUSR1 asks
// for the state; what means nothing to the server is ignored
// (base/stray_signals.h). SIGHUP stays ignored where it was, as by nohup.
//
// Life: constructed before any other thread, so that all inherit the blocked
// signals. Before ExpectStop(), during start, a signal ends the process at
// once. After it, the first one is for WaitForStop(); a second wish
// (base/stop_wish.h) ends the process at once, and so does the deadline of
// ExitBy().
//
// Thread safety: one main thread; the signals are taken by a thread of its own.
#ifndef FERRY_SERVER_STOP_SIGNALS_H_
#define FERRY_SERVER_STOP_SIGNALS_H_

#include <csignal>
#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/stop_wish.h"

namespace ferry {

// Exit codes of the process. A signal that ends it at once gives 128 + its
// number.
inline constexpr int kExitOk = 0;
inline constexpr int kExitCannotStart = 1;
inline constexpr int kExitDeviceLost = 3;
inline constexpr int kExitDrainTimeout = 4;

class StopSignals {
 public:
  // The clock outlives it, and is asked when a signal comes.
  explicit StopSignals(const Clock& clock = Clock::Steady());
  ~StopSignals();

  void ExpectStop();

  // From now on SIGUSR1 calls `tell` on the signals' thread; an empty one ends
  // that, and returns when the one before is not called any more.
  void OnStateWanted(std::function<void()> tell);

  // Returns the signal that came, or nothing after `at_most`.
  std::optional<int> WaitForStop(Duration at_most);

  // Waits until then, whatever signal came before; a further one ends the
  // process.
  void SleepUntil(TimePoint until);

  // From then on the process ends with that code at `deadline`.
  void ExitBy(TimePoint deadline, int code = kExitDrainTimeout);

 private:
  void Run();
  void Take(int number);
  void TellState();
  bool IsDone();

  const Clock& clock_;
  sigset_t signals_;
  Mutex mutex_;
  CondVar changed_;
  bool is_expected_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  StopWish wish_ ABSL_GUARDED_BY(mutex_);
  TimePoint exit_by_ ABSL_GUARDED_BY(mutex_) = kNever;
  int exit_code_ ABSL_GUARDED_BY(mutex_) = kExitDrainTimeout;
  Mutex tell_mutex_;  // held while it is called
  std::function<void()> tell_state_ ABSL_GUARDED_BY(tell_mutex_);
  std::thread thread_;
};

// Ends the process without running destructors, and without a lock; the log has
// half a second to be written. Where a driver holds a thread in the kernel the
// process stays all the same: that is left to what supervises it.
[[noreturn]] void ExitNow(int code);

}  // namespace ferry

#endif  // FERRY_SERVER_STOP_SIGNALS_H_
