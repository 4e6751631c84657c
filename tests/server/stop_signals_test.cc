// Tests that a second signal ends the process, unless it repeats the first.
#include "server/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

constexpr Duration kRepeat = std::chrono::milliseconds(99);
constexpr Duration kLater = std::chrono::milliseconds(101);

// Sends two signals, so far apart, and waits until both were taken.
void SendTwo(int first, int second, Duration between) {
  FakeClock clock;
  StopSignals signals(clock);
  signals.ExpectStop();
  kill(getpid(), first);
  while (!signals.WaitForStop(std::chrono::milliseconds(10)).has_value()) {
  }
  EXPECT_EQ(signals.WaitForStop(Duration(0)), first);
  clock.Advance(between);
  kill(getpid(), second);
  sigset_t pending;
  do {
    sigpending(&pending);
  } while (sigismember(&pending, second) == 1);
}  // joins the thread that takes them

TEST(StopSignalsTest, SameSignalAtOnceIsTheSameWish) {
  SendTwo(SIGTERM, SIGTERM, kRepeat);
  SendTwo(SIGINT, SIGINT, Duration(0));
}

TEST(StopSignalsTest, SecondWishEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(SendTwo(SIGTERM, SIGTERM, kLater),
              testing::ExitedWithCode(128 + SIGTERM), "");
  EXPECT_EXIT(SendTwo(SIGTERM, SIGINT, Duration(0)),
              testing::ExitedWithCode(128 + SIGINT), "");
}

}  // namespace
}  // namespace ferry
