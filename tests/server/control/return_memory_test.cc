// Tests when MemoryReturn gives memory back, and that the process's heap does.
#include "server/control/return_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace ferry {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::Le;
using ::testing::SizeIs;

constexpr size_t kMiB = size_t{1} << 20;

class MemoryReturnTest : public ::testing::Test {
 protected:
  void LookFor(Duration time) {
    for (const TimePoint end = now_ + time; now_ < end; now_ += seconds(1)) {
      memory_.Look(now_);
    }
  }
  size_t given() const {
    size_t sum = 0;
    for (const size_t bytes : steps_) {
      sum += bytes;
    }
    return sum;
  }

  TimePoint now_;
  size_t free_ = 0;
  std::vector<size_t> steps_;
  MemoryReturn memory_{{.free_bytes = [this] { return free_; },
                        .give_back =
                            [this](size_t bytes) {
                              free_ -= bytes;
                              steps_.push_back(bytes);
                            }}};
};

TEST_F(MemoryReturnTest, WhatIsFreeAfterAPeakIsGivenBackInSteps) {
  LookFor(seconds(5));
  free_ = 500 * kMiB;
  LookFor(seconds(5));
  EXPECT_EQ(given(), 0u) << "it was in use just now";
  LookFor(seconds(20));
  EXPECT_EQ(given(), 500 * kMiB);
  EXPECT_THAT(steps_, Each(Le(MemoryReturn::kMaxStep)));
}

// Whenever the peak ends.
TEST_F(MemoryReturnTest, HalfOfTheTimeLaterAtMost) {
  for (int second = 0; second < 10; ++second) {
    free_ = 500 * kMiB;
    LookFor(MemoryReturn::kUnused * 3 / 2 + seconds(1));
    EXPECT_EQ(free_, 0u) << "after " << second;
    LookFor(seconds(second));
  }
}

TEST_F(MemoryReturnTest, WhatIsUsedAgainAndAgainIsKept) {
  for (int i = 0; i < 10; ++i) {
    free_ = 500 * kMiB;
    LookFor(seconds(4));
    free_ = 100 * kMiB;  // 400 of them are used for a second
    LookFor(seconds(1));
    if (given() > 0) {
      break;
    }
  }
  EXPECT_EQ(given(), 100 * kMiB) << "what was never used";
}

TEST_F(MemoryReturnTest, LittleIsNotWorthIt) {
  free_ = MemoryReturn::kWorthIt - 1;
  LookFor(seconds(60));
  EXPECT_THAT(steps_, SizeIs(0));
}

TEST(ProcessHeapTest, CountsWhatIsFreedUntilItIsGivenBack) {
  const MemoryReturn::Heap heap = MemoryReturn::OfProcess();
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 1000; ++i) {
    blocks.push_back(std::make_unique<char[]>(100'000));
  }
  const auto last = std::make_unique<char[]>(100'000);
  const size_t before = heap.free_bytes();
  blocks.clear();
  const size_t freed = heap.free_bytes();
  EXPECT_GT(freed, before + 50 * kMiB);
  heap.give_back(freed);
  EXPECT_LT(heap.free_bytes(), before + 10 * kMiB);
}

}  // namespace
}  // namespace ferry
