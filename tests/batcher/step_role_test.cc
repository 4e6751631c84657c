// StepRole: one stepper at a time, and nothing that was asked for is missed.
#include "batcher/step_role.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace ferry {
namespace {

TEST(StepRole, WhoeverAsksFirstIsTheStepper) {
  StepRole role;
  EXPECT_TRUE(role.Ask());
  EXPECT_FALSE(role.Ask()) << "there is one";
  role.Begin();
  EXPECT_TRUE(role.TryLeave());
  EXPECT_TRUE(role.Ask()) << "there is none again";
}

TEST(StepRole, StepperStaysWhereOneMoreStepWasAskedFor) {
  StepRole role;
  ASSERT_TRUE(role.Ask());
  role.Begin();
  EXPECT_FALSE(role.Ask());
  EXPECT_FALSE(role.TryLeave()) << "asked for since the step began";
  role.Begin();
  EXPECT_TRUE(role.TryLeave());
}

TEST(StepRole, EveryPublishedItemIsTakenByOneStepperAtATime) {
  constexpr int kThreads = 4;
  constexpr int kItems = 20'000;
  StepRole role;
  std::atomic<int> published{0};
  std::atomic<int> steppers{0};
  int taken = 0;  // the stepper's: a race here is one that TSan reports
  const auto publish = [&] {
    for (int i = 0; i < kItems; ++i) {
      published.fetch_add(1, std::memory_order_seq_cst);
      if (!role.Ask()) {
        continue;
      }
      EXPECT_EQ(steppers.fetch_add(1), 0);
      for (;;) {
        role.Begin();
        taken += published.exchange(0, std::memory_order_seq_cst);
        steppers.fetch_sub(1);
        if (role.TryLeave()) {
          break;
        }
        EXPECT_EQ(steppers.fetch_add(1), 0);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(publish);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(published.load(), 0) << "left by the last stepper";
  EXPECT_EQ(taken, kThreads * kItems);
}

}  // namespace
}  // namespace ferry
