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

// A server that was ready and was killed at 10 s.
ServerLife KilledAt10() {
  ServerLife life(kBackOff, At(0));
  life.Started();
  life.Answered(true, At(1));
  life.Killed(At(10));
  return life;
}

TEST(ServerLifeTest, KilledThatIsNotGoneIsStuckOnce) {
  ServerLife life = KilledAt10();
  const TimePoint gone_by = At(10) + ServerLife::kGone;
  EXPECT_EQ(life.gone_by(), gone_by);
  life.Killed(At(12));
  EXPECT_EQ(life.gone_by(), gone_by) << "by the first";
  EXPECT_FALSE(life.IsStuck(gone_by - Milliseconds(1)));
  EXPECT_EQ(life.state(), LifeState::kReady);
  EXPECT_TRUE(life.IsStuck(gone_by));
  EXPECT_EQ(life.state(), LifeState::kStuck);
  EXPECT_FALSE(life.IsStuck(At(1000)));
  life.Answered(true, At(1000));
  EXPECT_EQ(life.state(), LifeState::kStuck);
  EXPECT_EQ(life.next_start(), kNever) << "its device and ports are taken";
}

TEST(ServerLifeTest, StuckIsStartedAgainWhenItIsGone) {
  ServerLife life = KilledAt10();
  ASSERT_TRUE(life.IsStuck(At(20)));
  life.Ended(kKilled, At(300));
  EXPECT_EQ(life.next_start(), At(301));
  life.Started();
  EXPECT_FALSE(life.IsStuck(At(1000))) << "the new one was not killed";
}

TEST(ServerLifeTest, KilledThatIsGoneInTimeIsNotStuck) {
  ServerLife life = KilledAt10();
  life.Ended(kKilled, At(10.1));
  EXPECT_EQ(life.gone_by(), kNever);
  EXPECT_FALSE(life.IsStuck(At(1000)));
  EXPECT_EQ(life.state(), LifeState::kWaiting);
}

TEST(ServerLifeTest, StuckIsNotWaitedForAtTheEnd) {
  ServerLife stuck = KilledAt10();
  ASSERT_TRUE(stuck.IsStuck(At(20)));
  stuck.Stop();
  EXPECT_EQ(stuck.state(), LifeState::kStopped);
  ServerLife stopping(kBackOff, At(0));
  stopping.Started();
  stopping.Stop();
  stopping.Killed(At(60));
  EXPECT_EQ(stopping.state(), LifeState::kStopping);
  EXPECT_TRUE(stopping.IsStuck(At(60) + ServerLife::kGone));
  EXPECT_EQ(stopping.state(), LifeState::kStopped);
}

TEST(ServerLifeTest, EndsAreDescribed) {
  EXPECT_EQ(DescribeEnd(kDrained), "exit code 0 (drained)");
  EXPECT_EQ(DescribeEnd(kFailed), "exit code 1 (could not start)");
  EXPECT_EQ(DescribeEnd({.code = 77}), "exit code 77");
  EXPECT_EQ(DescribeEnd(kKilled), "SIGKILL");
}

}  // namespace
}  // namespace ferry::launch
