// Implements SignalWatcher: a thread in sigtimedwait.
#include "bench/commands/signal_watcher.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/stop_wish.h"
#include "bench/commands/interruption.h"

namespace ferry::bench {
namespace {

constexpr long kLookForEndNs = 100'000'000;

sigset_t WatchedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = WatchedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

SignalWatcher::SignalWatcher(std::function<void()> on_signal,
                             const Clock& clock)
    : on_signal_(std::move(on_signal)),
      clock_(clock),
      thread_([this] { Run(); }) {}

SignalWatcher::~SignalWatcher() {
  is_done_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void SignalWatcher::Run() {
  const sigset_t signals = WatchedSignals();
  const timespec limit = {0, kLookForEndNs};
  StopWish wish;
  while (!is_done_.load(std::memory_order_relaxed)) {
    const int number = sigtimedwait(&signals, nullptr, &limit);
    if (number < 0) {
      continue;
    }
    const StopWish::Kind kind = wish.Take(number, clock_.Now());
    if (kind == StopWish::Kind::kSecond) {
      _exit(kExitInterrupted);
    }
    if (kind == StopWish::Kind::kFirst) {
      on_signal_();
    }
  }
}

}  // namespace ferry::bench
