// SignalWatcher turns the first SIGINT or SIGTERM into a call, and lets a
// second wish (base/stop_wish.h) end the process.
//
// Thread safety: thread-compatible. Block the signals first thing in main(),
// so that no other thread takes them.
#ifndef FERRY_BENCH_COMMANDS_SIGNAL_WATCHER_H_
#define FERRY_BENCH_COMMANDS_SIGNAL_WATCHER_H_

#include <atomic>
#include <functional>
#include <thread>

#include "base/clock.h"

namespace ferry::bench {

// Blocks SIGINT and SIGTERM in the calling thread and those it starts later.
void BlockSignals();

class SignalWatcher {
 public:
  // `on_signal` is called on the watcher's thread, at most once. The clock
  // outlives it, and is asked when a signal comes.
  explicit SignalWatcher(std::function<void()> on_signal,
                         const Clock& clock = Clock::Steady());
  ~SignalWatcher();

 private:
  void Run();

  const std::function<void()> on_signal_;
  const Clock& clock_;
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_SIGNAL_WATCHER_H_
