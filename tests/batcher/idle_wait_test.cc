// IdleWait: when a thread without work polls, and for how long.
#include "batcher/idle_wait.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

constexpr int kMaxPollUs = 250;

Duration Us(int us) { return std::chrono::microseconds(us); }
TimePoint AtUs(int us) { return TimePoint() + Us(us); }

// Of a thread to which news came `us` after it had worked.
IdleWait AfterAWaitOf(int us) {
  IdleWait idle(Us(kMaxPollUs));
  idle.WorkEnded();
  idle.Next(AtUs(0), kNever);
  idle.NewsCame(AtUs(us));
  return idle;
}

void ExpectSleeps(const IdleWait::Plan& plan, TimePoint until) {
  EXPECT_FALSE(plan.polls);
  EXPECT_EQ(plan.until, until);
}

void ExpectPolls(const IdleWait::Plan& plan, TimePoint until) {
  EXPECT_TRUE(plan.polls);
  EXPECT_EQ(plan.until, until);
}

TEST(IdleWait, SleepsUntilItKnowsThatWaitsAreShort) {
  IdleWait idle(Us(kMaxPollUs));
  ExpectSleeps(idle.Next(AtUs(0), kNever), kNever);
  idle.NewsCame(AtUs(10));  // after no work
  idle.WorkEnded();
  ExpectSleeps(idle.Next(AtUs(1000), kNever), kNever);
}

TEST(IdleWait, PollsAfterWorkWhereTheLastWaitWasShort) {
  IdleWait idle = AfterAWaitOf(kMaxPollUs);
  idle.WorkEnded();
  ExpectPolls(idle.Next(AtUs(1000), kNever), AtUs(1250));
  ExpectPolls(idle.Next(AtUs(1100), kNever), AtUs(1250));
  ExpectSleeps(idle.Next(AtUs(1250), kNever), kNever);
}

TEST(IdleWait, PollInVainIsTheLastOneUntilAWaitWasShort) {
  IdleWait idle = AfterAWaitOf(200);
  idle.WorkEnded();
  EXPECT_TRUE(idle.Next(AtUs(1000), kNever).polls);
  EXPECT_FALSE(idle.Next(AtUs(1250), kNever).polls);
  idle.NewsCame(AtUs(1251));
  idle.WorkEnded();
  EXPECT_FALSE(idle.Next(AtUs(2000), kNever).polls);
  idle.NewsCame(AtUs(2100));
  idle.WorkEnded();
  EXPECT_TRUE(idle.Next(AtUs(3000), kNever).polls);
}

TEST(IdleWait, NeverPollsWhereItMayNot) {
  IdleWait idle(Duration(0));
  for (int i = 0; i < 3; ++i) {
    idle.WorkEnded();
    ExpectSleeps(idle.Next(AtUs(i), kNever), kNever);
    idle.NewsCame(AtUs(i));
  }
}

TEST(IdleWait, WaitForCompanyIsNotPolledThrough) {
  IdleWait idle = AfterAWaitOf(200);
  idle.WorkEnded();
  idle.Next(AtUs(1000), kNever);
  idle.NewsCame(AtUs(1100));
  ExpectSleeps(idle.Next(AtUs(1101), AtUs(6100)), AtUs(6100));
  idle.NewsCame(AtUs(6100));  // its alarm: no short wait, and no long one
  idle.WorkEnded();
  EXPECT_TRUE(idle.Next(AtUs(8000), kNever).polls);
}

TEST(IdleWait, WorkFoundAtOnceLeavesWhatWasLearned) {
  IdleWait idle = AfterAWaitOf(200);
  idle.WorkEnded();
  EXPECT_FALSE(idle.has_waited());
  idle.NewsCame(TimePoint());  // any time: it has not waited
  idle.WorkEnded();
  EXPECT_TRUE(idle.Next(AtUs(2000), kNever).polls);
  EXPECT_TRUE(idle.has_waited());
}

TEST(IdleWait, ThreadThatHadToGiveWaySleepsUntilAWaitWasShort) {
  IdleWait idle = AfterAWaitOf(200);
  idle.WorkEnded();
  EXPECT_TRUE(idle.Next(AtUs(1000), kNever).polls);
  EXPECT_TRUE(idle.Polled(AtUs(1000), AtUs(1050)));
  EXPECT_FALSE(idle.Polled(AtUs(1050), AtUs(1101)));
  ExpectSleeps(idle.Next(AtUs(1101), kNever), kNever);
  idle.NewsCame(AtUs(1102));
  idle.WorkEnded();
  EXPECT_FALSE(idle.Next(AtUs(2000), kNever).polls);
  idle.NewsCame(AtUs(2100));
  idle.WorkEnded();
  EXPECT_TRUE(idle.Next(AtUs(3000), kNever).polls);
}

// Its sleeps end that much late.
IdleWait Late(int us) {
  IdleWait idle(Duration(0));
  for (int i = 0; i < 200; ++i) {
    idle.Slept(AtUs(5000), AtUs(5000 + us));
  }
  return idle;
}

TEST(IdleWait, WakesItselfAsMuchEarlierAsItWasLate) {
  IdleWait on_time(Duration(0));
  ExpectSleeps(on_time.Next(AtUs(0), AtUs(5000)), AtUs(5000));
  IdleWait idle = Late(40);
  EXPECT_NEAR(static_cast<double>(idle.lead().count()), 50e3, 100);
  const TimePoint woken = AtUs(5000) - idle.lead();
  ExpectSleeps(idle.Next(AtUs(0), AtUs(5000)), woken);
  ExpectPolls(idle.Next(woken, AtUs(5000)), AtUs(5000));
}

TEST(IdleWait, LeadIsBoundedByItselfAndByTheWait) {
  IdleWait idle = Late(4000);
  EXPECT_EQ(idle.lead(), IdleWait::kMaxLead);
  ExpectSleeps(idle.Next(AtUs(0), AtUs(80)), AtUs(70));
  ExpectSleeps(idle.Next(AtUs(69), AtUs(80)), AtUs(70));
  ExpectPolls(idle.Next(AtUs(70), AtUs(80)), AtUs(80));
}

TEST(IdleWait, SleepThatWasEndedEarlySaysNothing) {
  IdleWait idle = Late(40);
  const Duration before = idle.lead();
  idle.Slept(AtUs(5000), AtUs(100));
  EXPECT_EQ(idle.lead(), before);
}

}  // namespace
}  // namespace ferry
