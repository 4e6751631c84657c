// Tests BatchPlan, JoinOrder and LevelShares: which requests join a batch, in
// which order.
#include "batcher/internal/batch_planner.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace ferry {
namespace {

class BatchPlanTest : public ::testing::Test {
 protected:
  void Queue(int32_t level, int32_t rows) {
    InferRequest& request = requests_.emplace_back();
    request.level = level;
    request.rows = rows;
    queue_.Append(request);
  }

  // The plan of what fits.
  BatchPlan Plan(BatchLimits limits) const {
    BatchPlan plan(100);
    JoinOrder order(*queue_.groups()[0], shares_);
    while (order.Peek() != nullptr && plan.Fits(*order.Peek(), limits)) {
      plan.Join(*order.Peek());
      order.Pop();
    }
    return plan;
  }

  // Rows of all queued requests in the order in which they would join.
  std::vector<int32_t> Order() const {
    std::vector<int32_t> rows;
    JoinOrder order(*queue_.groups()[0], shares_);
    for (; order.Peek() != nullptr; order.Pop()) {
      rows.push_back(order.Peek()->rows);
    }
    return rows;
  }

  std::deque<InferRequest> requests_;
  RequestQueue queue_{100, 3};
  LevelShares shares_{3};
};

using Rows = std::vector<int32_t>;

TEST_F(BatchPlanTest, UrgentLevelsJoinFirstEachInItsOrder) {
  Queue(2, 1);
  Queue(0, 2);
  Queue(1, 3);
  Queue(0, 4);
  Queue(1, 5);
  EXPECT_EQ(Order(), (Rows{2, 4, 3, 5, 1}));
}

TEST_F(BatchPlanTest, AllJoinWhereAllFit) {
  Queue(0, 3);
  Queue(1, 4);
  const BatchPlan plan = Plan({.rows = 8, .requests = 8});
  EXPECT_EQ(plan.requests(), 2);
  EXPECT_EQ(plan.rows(), 7);
  EXPECT_EQ(plan.entries()[0].end_row, 3);
  EXPECT_EQ(plan.entries()[1].end_row, 7);
}

TEST_F(BatchPlanTest, EndsAtRowsRequestsOrWhatDoesNotFit) {
  Queue(0, 3);
  Queue(0, 4);
  Queue(1, 1);
  EXPECT_EQ(Plan({.rows = 8, .requests = 8}).requests(), 3);
  EXPECT_EQ(Plan({.rows = 9, .requests = 2}).requests(), 2);
  EXPECT_EQ(Plan({.rows = 6, .requests = 8}).requests(), 1)
      << "no request overtakes the one that does not fit";
}

TEST_F(BatchPlanTest, RequestPastShrunkenLimitsLeavesAlone) {
  Queue(0, 5);
  Queue(0, 1);
  const BatchPlan plan = Plan({.rows = 4, .requests = 4});
  EXPECT_EQ(plan.requests(), 1);
  EXPECT_EQ(plan.rows(), 5);
}

TEST_F(BatchPlanTest, WhatArrivedTooLateDoesNotJoinUnlessItIsTheFirst) {
  Queue(0, 1);
  Queue(0, 1);
  requests_[0].arrival = FromNanos(5);
  requests_[1].arrival = FromNanos(6);
  EXPECT_EQ(Plan({.rows = 4, .requests = 4, .newest = FromNanos(5)}).requests(),
            1);
  EXPECT_EQ(Plan({.rows = 4, .requests = 4, .newest = FromNanos(4)}).requests(),
            1);
}

TEST_F(BatchPlanTest, IsCutToItsFirstRequests) {
  Queue(0, 3);
  Queue(0, 4);
  BatchPlan plan = Plan({.rows = 8, .requests = 8});
  plan.CutTo(1);
  EXPECT_EQ(plan.rows(), 3);
  plan.Clear();
  EXPECT_TRUE(plan.empty());
  EXPECT_EQ(plan.rows(), 0);
}

// A level that waits while `rows` of a more urgent one start.
LevelShares::Started UrgentRows(int32_t rows, int32_t own_rows = 0) {
  return {.time = Milliseconds(1),
          .max_rows = 10,
          .urgent_rows = rows,
          .own_rows = own_rows,
          .waits = true};
}

TEST_F(BatchPlanTest, LevelTakesItsDeficitBeforeUrgentOnes) {
  Queue(0, 2);
  Queue(1, 1);
  Queue(1, 1);
  Queue(1, 1);
  shares_.Count(1, UrgentRows(40));
  EXPECT_EQ(shares_.Deficit(1), 2);
  EXPECT_EQ(Order(), (Rows{1, 1, 2, 1}));
}

TEST_F(BatchPlanTest, RequestLargerThanTheDeficitWaitsItsTurn) {
  Queue(0, 2);
  Queue(1, 3);
  shares_.Count(1, UrgentRows(40));
  EXPECT_EQ(shares_.Deficit(1), 2);
  EXPECT_EQ(Order(), (Rows{2, 3}));
}

TEST(LevelShares, LevelSavesUpToABatchWhileItWaits) {
  LevelShares shares(2);
  int batches = 0;
  for (; shares.Deficit(1) < 10; ++batches) {
    shares.Count(1, UrgentRows(10));
  }
  EXPECT_GE(batches, 18);
  EXPECT_LE(batches, 20) << "5 % at least";
  shares.Count(1, UrgentRows(1000));
  EXPECT_EQ(shares.Deficit(1), 10);
  shares.Count(1, UrgentRows(6, 4));
  EXPECT_EQ(shares.Deficit(1), 6);
}

TEST(LevelShares, LevelWithoutWorkHasNoDeficit) {
  LevelShares shares(2);
  shares.Count(1, UrgentRows(100));
  EXPECT_EQ(shares.Deficit(1), 5);
  shares.Count(1, {.urgent_rows = 9, .own_rows = 1});
  EXPECT_EQ(shares.Deficit(1), 0);
}

TEST(LevelShares, LevelThatGetsMoreThanItsFloorHasNoDeficit) {
  LevelShares shares(2);
  shares.Count(1, UrgentRows(4, 6));
  EXPECT_EQ(shares.Deficit(1), 0);
}

TEST(LevelShares, SaysWhatOthersTakeOfTheTimeWhileALevelHasWork) {
  LevelShares shares(2);
  EXPECT_EQ(shares.TakenByOthers(1), 0);
  for (int i = 0; i < 500; ++i) {
    shares.Count(1, UrgentRows(9, 1));
  }
  EXPECT_NEAR(shares.TakenByOthers(1), 0.9, 1e-3);
  shares.Count(1, {.time = Milliseconds(1), .urgent_rows = 10});
  EXPECT_NEAR(shares.TakenByOthers(1), 0.9, 1e-3) << "it has no work";
  for (int i = 0; i < 500; ++i) {
    shares.Count(1, {.time = Milliseconds(3), .max_rows = 10, .own_rows = 10});
    shares.Count(1, UrgentRows(1));
  }
  EXPECT_NEAR(shares.TakenByOthers(1), 0.25, 0.02) << "time, not rows, counts";
}

TEST(LevelShares, RoomThatLessUrgentLevelsFillIsNotTaken) {
  LevelShares shares(2);
  for (int i = 0; i < 500; ++i) {
    shares.Count(0, {.time = Milliseconds(1),
                     .max_rows = 64,
                     .own_rows = 1,
                     .other_rows = 63});
  }
  EXPECT_EQ(shares.TakenByOthers(0), 0);
}

}  // namespace
}  // namespace ferry
