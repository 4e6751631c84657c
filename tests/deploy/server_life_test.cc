// Tests the starts, delays and ends of ServerLife on a synthetic clock.
#include "deploy/launch/server_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace ferry::launch {
namespace {

constexpr BackOff kBackOff = {.first = std::chrono::seconds(1),
                              .most = std::chrono::seconds(8),
                              .healthy = std::chrono::seconds(60)};
constexpr ProcessEnd kFailed = {.code = 1};
constexpr ProcessEnd kDrained = {};
constexpr ProcessEnd kKilled = {.signal = 9};

TimePoint At(double seconds) { return TimePoint(Milliseconds(seconds * 1000)); }

// Starts it when it is due, lets it fail at once, and returns the seconds from
// the failure to the next start.
double DelayAfterFailure(ServerLife& life) {
  const TimePoint start = life.next_start();
  life.Started();
  life.Ended(kFailed, start);
  return std::chrono::duration<double>(life.next_start() - start).count();
}

TEST(ServerLifeTest, StartsAtOnceAndBecomesReady) {
  ServerLife life(kBackOff, At(5));
  EXPECT_EQ(life.state(), LifeState::kWaiting);
  EXPECT_FALSE(life.MustStart(At(4.9)));
  EXPECT_TRUE(life.MustStart(At(5)));
  life.Started();
  EXPECT_EQ(life.state(), LifeState::kStarting);
  EXPECT_FALSE(life.MustStart(At(100)));
  life.Answered(false, At(6));
  EXPECT_EQ(life.state(), LifeState::kStarting);
  life.Answered(true, At(7));
  EXPECT_EQ(life.state(), LifeState::kReady);
  life.Answered(false, At(8));
  EXPECT_EQ(life.state(), LifeState::kNotReady);
  life.Answered(true, At(9));
  EXPECT_EQ(life.state(), LifeState::kReady);
  EXPECT_EQ(life.restarts(), 0);
}

TEST(ServerLifeTest, DelayDoublesUpToTheMost) {
  ServerLife life(kBackOff, At(0));
  std::vector<double> delays;
  for (int i = 0; i < 6; ++i) {
    delays.push_back(DelayAfterFailure(life));
  }
  EXPECT_THAT(delays, testing::ElementsAre(1, 2, 4, 8, 8, 8));
  EXPECT_EQ(life.restarts(), 5);
}

TEST(ServerLifeTest, NeverDueBeforeItsDelay) {
  ServerLife life(kBackOff, At(0));
  life.Started();
  life.Ended(kKilled, At(10));
  EXPECT_EQ(life.state(), LifeState::kWaiting);
  EXPECT_FALSE(life.MustStart(At(10.999)));
  EXPECT_TRUE(life.MustStart(At(11)));
}

TEST(ServerLifeTest, HealthyPeriodForgetsFailures) {
  ServerLife life(kBackOff, At(0));
  DelayAfterFailure(life);
  DelayAfterFailure(life);
  life.Started();
  life.Answered(true, At(10));
  life.Ended(kKilled, At(70));
  EXPECT_EQ(life.next_start(), At(71));
}

TEST(ServerLifeTest, ShortReadinessForgetsNothing) {
  ServerLife life(kBackOff, At(0));
  DelayAfterFailure(life);
  DelayAfterFailure(life);
  life.Started();
  life.Answered(true, At(10));
  life.Ended(kKilled, At(69.9));
  EXPECT_EQ(life.next_start(), At(73.9));
}

TEST(ServerLifeTest, ReadinessOfTheLastProcessDoesNotCount) {
  ServerLife life(kBackOff, At(0));
  life.Started();
  life.Answered(true, At(1));
  life.Ended(kKilled, At(2));
  life.Started();
  life.Ended(kKilled, At(100));
  EXPECT_EQ(life.next_start(), At(102));
}

TEST(ServerLifeTest, EndsByItselfWithSuccessAndStaysDown) {
  ServerLife life(kBackOff, At(0));
  life.Started();
  life.Answered(true, At(1));
  life.Ended(kDrained, At(2));
  EXPECT_EQ(life.state(), LifeState::kStopped);
  EXPECT_EQ(life.next_start(), kNever);
}

TEST(ServerLifeTest, StoppedWhileItRuns) {
  ServerLife life(kBackOff, At(0));
  life.Started();
  life.Answered(true, At(1));
  life.Stop();
  EXPECT_EQ(life.state(), LifeState::kStopping);
  life.Answered(false, At(2));
  EXPECT_EQ(life.state(), LifeState::kStopping);
  life.Ended(kFailed, At(3));
  EXPECT_EQ(life.state(), LifeState::kStopped);
  EXPECT_EQ(life.next_start(), kNever);
}

TEST(ServerLifeTest, StoppedWhileItWaits) {
  ServerLife life(kBackOff, At(0));
  DelayAfterFailure(life);
  life.Stop();
  EXPECT_EQ(life.state(), LifeState::kStopped);
  EXPECT_FALSE(life.MustStart(At(1000)));
}

TEST(ServerLifeTest, StartThatFailsIsAFailure) {
  ServerLife life(kBackOff, At(0));
  life.StartFailed(At(0));
  EXPECT_EQ(life.next_start(), At(1));
  life.StartFailed(At(1));
  EXPECT_EQ(life.next_start(), At(3));
  EXPECT_EQ(life.restarts(), 1);
}

TEST(ServerLifeTest, StartsThatFailedAreCountedUntilItIsReady) {
  ServerLife life(kBackOff, At(0));
  EXPECT_EQ(life.failed_starts(), 0);
  DelayAfterFailure(life);
  life.StartFailed(At(1));
  EXPECT_EQ(life.failed_starts(), 2);
  life.Started();
  life.Answered(false, At(3));
  EXPECT_EQ(life.failed_starts(), 2);
  life.Answered(true, At(4));
  EXPECT_EQ(life.failed_starts(), 0);
  life.Ended(kKilled, At(5));
  EXPECT_EQ(life.failed_starts(), 0);
  DelayAfterFailure(life);
  EXPECT_EQ(life.failed_starts(), 1);
}

TEST(ServerLifeTest, EndThatWasAskedForIsNoFailedStart) {
  ServerLife life(kBackOff, At(0));
  life.Started();
  life.Stop();
  life.Ended(kFailed, At(1));
  EXPECT_EQ(life.failed_starts(), 0);
}

TEST(ServerLifeTest, EndsAreDescribed) {
  EXPECT_EQ(DescribeEnd(kDrained), "exit code 0 (drained)");
  EXPECT_EQ(DescribeEnd(kFailed), "exit code 1 (could not start)");
  EXPECT_EQ(DescribeEnd({.code = 77}), "exit code 77");
  EXPECT_EQ(DescribeEnd(kKilled), "SIGKILL");
}

}  // namespace
}  // namespace ferry::launch
