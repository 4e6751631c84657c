// Tests that a LossProbe finds a loss, and that it waits for no driver.
#include "server/control/loss_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/server/logged_text.h"
#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LossProbeTest, LossIsFoundWithinTwoLooks) {
  std::atomic<bool> is_lost{false};
  LossProbe probe([&is_lost] { return is_lost.load(); });
  EXPECT_FALSE(probe.Look());
  EXPECT_TRUE(probe.Answers(std::chrono::hours(1)));
  EXPECT_FALSE(probe.Look());
  ASSERT_TRUE(probe.Answers(std::chrono::hours(1)));
  is_lost = true;
  probe.Look();
  ASSERT_TRUE(probe.Answers(std::chrono::hours(1)));  // what it asked, or since
  EXPECT_TRUE(probe.Look());
}

TEST(LossProbeTest, DriverThatHangsIsToldOnceAndIsNoLoss) {
  LoggedText logged;
  FakeClock clock;
  std::promise<void> has_come;
  std::promise<void> may_go;
  int calls = 0;
  LossProbe probe(
      [&] {
        if (++calls == 1) {
          has_come.set_value();
          may_go.get_future().wait();
        }
        return true;  // as a driver may say once it gives up
      },
      clock);
  EXPECT_FALSE(probe.Look());
  has_come.get_future().wait();
  clock.Advance(LossProbe::kLong - Milliseconds(1));
  EXPECT_FALSE(probe.Look());
  EXPECT_THAT(logged.Take(), IsEmpty());
  clock.Advance(Milliseconds(1));
  EXPECT_FALSE(probe.Look());
  EXPECT_THAT(logged.Take(), HasSubstr("got none for 10 s; a model"));
  clock.Advance(LossProbe::kLong);
  EXPECT_FALSE(probe.Look());
  EXPECT_THAT(logged.Take(), IsEmpty());
  EXPECT_FALSE(probe.Answers(Milliseconds(1)));
  may_go.set_value();
  while (!probe.Look()) {
    std::this_thread::yield();
  }
  EXPECT_THAT(logged.Take(),
              HasSubstr("its driver answers again, after 20 s or more"));
}

}  // namespace
}  // namespace ferry
