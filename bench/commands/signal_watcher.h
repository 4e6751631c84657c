// SignalWatcher turns the first SIGINT or SIGTERM into a call, and lets the
// second one end the process.
//
// Thread safety: thread-compatible. Block the signals first thing in main(),
// so that no other thread takes them.
#ifndef FERRY_BENCH_COMMANDS_SIGNAL_WATCHER_H_
#define FERRY_BENCH_COMMANDS_SIGNAL_WATCHER_H_

#include <atomic>
#include <functional>
#include <thread>

namespace ferry::bench {

// Blocks SIGINT and SIGTERM in the calling thread and those it starts later.
void BlockSignals();

class SignalWatcher {
 public:
  // `on_signal` is called on the watcher's thread, at most once.
  explicit SignalWatcher(std::function<void()> on_signal);
  ~SignalWatcher();

 private:
  void Run();

  const std::function<void()> on_signal_;
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_SIGNAL_WATCHER_H_
