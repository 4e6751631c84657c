// Tests when a thread stalls, and when the process cannot go on for it.
#include "server/control/thread_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/logged_text.h"
#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ThreadWatchTest : public testing::Test {
 protected:
  std::optional<std::string> LookAfter(Duration time) {
    clock_.Advance(time);
    threads_[1].turned = clock_.Now();
    return watch_.Look(threads_, clock_.Now());
  }

  static constexpr Duration kLook = std::chrono::milliseconds(500);

  FakeClock clock_;
  ThreadWatch watch_{std::chrono::seconds(20)};
  std::vector<ThreadWatch::Thread> threads_ = {{"stops", clock_.Now()},
                                               {"turns", clock_.Now()}};
};

TEST_F(ThreadWatchTest, ThreadThatTurnsNoMoreStallsUntilItTurnsAgain) {
  LookAfter(ThreadWatch::kStalls);
  LookAfter(Duration(0));
  EXPECT_THAT(watch_.stalled(), IsEmpty()) << "not longer than that";
  EXPECT_EQ(LookAfter(Duration(1)), std::nullopt);
  EXPECT_THAT(watch_.stalled(), ElementsAre("stops"));
  threads_[0].turned = clock_.Now();
  LookAfter(kLook);
  EXPECT_THAT(watch_.stalled(), IsEmpty());
}

TEST_F(ThreadWatchTest, IsStalledAtTheFirstLookPastTheBound) {
  for (Duration passed(1); passed <= ThreadWatch::kStalls; passed += kLook) {
    LookAfter(passed == Duration(1) ? passed : kLook);
    EXPECT_THAT(watch_.stalled(), IsEmpty()) << passed.count();
  }
  LookAfter(kLook);
  EXPECT_THAT(watch_.stalled(), ElementsAre("stops"));
}

TEST_F(ThreadWatchTest, LogIsToldOfEachChangeOnce) {
  LoggedText logged;
  LookAfter(kLook);
  LookAfter(ThreadWatch::kStalls);
  EXPECT_THAT(logged.Take(), IsEmpty());
  LookAfter(kLook);
  EXPECT_THAT(logged.Take(), HasSubstr("have not turned for 5 s: stops"));
  LookAfter(kLook);
  EXPECT_THAT(logged.Take(), IsEmpty());
  threads_[0].turned = clock_.Now();
  LookAfter(kLook);
  EXPECT_THAT(logged.Take(), HasSubstr("all threads turn again"));
  LookAfter(kLook);
  EXPECT_THAT(logged.Take(), IsEmpty());
}

TEST_F(ThreadWatchTest, StopOfTheWholeProcessIsNone) {
  LookAfter(kLook);
  EXPECT_EQ(LookAfter(std::chrono::hours(1)), std::nullopt);
  EXPECT_THAT(watch_.stalled(), IsEmpty());
  threads_[0].turned = clock_.Now();
  LookAfter(kLook);
  EXPECT_THAT(watch_.stalled(), IsEmpty());
}

TEST_F(ThreadWatchTest, ThreadThatStallsForLongEndsTheProcess) {
  std::optional<std::string> why;
  int looks = 0;
  for (; !why.has_value() && looks < 1000; ++looks) {
    why = LookAfter(kLook);
  }
  EXPECT_EQ(why, "thread hangs name=stops seconds=20");
  EXPECT_EQ(looks, 41) << "the first past 20 s";
}

TEST_F(ThreadWatchTest, WithoutATimeoutItGoesOn) {
  ThreadWatch watch(Duration(0));
  clock_.Advance(std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(watch.Look(threads_, clock_.Now()), std::nullopt);
  }
  EXPECT_THAT(watch.stalled(), ElementsAre("stops", "turns"));
}

}  // namespace
}  // namespace ferry
