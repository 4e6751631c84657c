// Tests that JoinableThread is joined once it has ended, and not before.
#include "base/joinable_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace ferry {
namespace {

TEST(JoinableThread, IsJoinedOnceItHasEnded) {
  std::promise<void> may_end;
  std::atomic<bool> has_run{false};
  JoinableThread thread;
  thread.Start([&] {
    may_end.get_future().wait();
    has_run = true;
  });
  EXPECT_FALSE(thread.JoinBy(Clock::Steady().Now()));
  may_end.set_value();
  EXPECT_TRUE(thread.JoinBy(kNever));
  EXPECT_TRUE(has_run);
  EXPECT_TRUE(thread.JoinBy(Clock::Steady().Now())) << "again";
}

TEST(JoinableThread, NoneIsJoinedAtOnce) {
  JoinableThread thread;
  EXPECT_TRUE(thread.JoinBy(kNever));
}

}  // namespace
}  // namespace ferry
