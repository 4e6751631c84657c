// Tests that a second signal ends a command, unless it repeats the first.
#include "bench/commands/signal_watcher.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/stop_wish.h"
#include "bench/commands/interruption.h"
#include "tests/support/fake_clock.h"

namespace ferry::bench {
namespace {

// Sends two signals, so far apart, waits until both were taken, and returns how
// often the watcher called.
int SendTwo(int first, int second, Duration between) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  BlockSignals();
  FakeClock clock;
  std::atomic<int> calls{0};
  {
    SignalWatcher watcher([&calls] { ++calls; }, clock);
    kill(getpid(), first);
    while (calls == 0) {
      std::this_thread::yield();
    }
    clock.Advance(between);
    kill(getpid(), second);
    sigset_t pending;
    do {
      std::this_thread::yield();
      sigpending(&pending);
    } while (sigismember(&pending, second) == 1);
  }  // joins the thread that takes them
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return calls;
}

TEST(SignalWatcherTest, SameSignalAtOnceIsTheSameWish) {
  EXPECT_EQ(SendTwo(SIGTERM, SIGTERM, Duration(0)), 1);
  EXPECT_EQ(SendTwo(SIGINT, SIGINT, StopWish::kEchoTime - Duration(1)), 1);
}

TEST(SignalWatcherTest, SecondWishEndsTheCommand) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(SendTwo(SIGTERM, SIGTERM, StopWish::kEchoTime),
              testing::ExitedWithCode(kExitInterrupted), "");
  EXPECT_EXIT(SendTwo(SIGTERM, SIGINT, Duration(0)),
              testing::ExitedWithCode(kExitInterrupted), "");
}

}  // namespace
}  // namespace ferry::bench
