// BatchPlan, JoinOrder and LevelShares: who joins a batch, in which order.
#include "batcher/batch_plan.h"

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

  BatchPlan Plan(BatchLimits limits) const {
    return PlanBatch(*queue_.groups()[0], shares_, limits);
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
  EXPECT_EQ(plan.requests, 2);
  EXPECT_EQ(plan.rows, 7);
  EXPECT_FALSE(plan.is_full);
}

TEST_F(BatchPlanTest, IsFullInRowsInRequestsOrByWhatDoesNotFit) {
  Queue(0, 3);
  Queue(0, 4);
  Queue(1, 1);
  EXPECT_TRUE(Plan({.rows = 8, .requests = 8}).is_full) << "8 of 8 rows";
  EXPECT_TRUE(Plan({.rows = 9, .requests = 3}).is_full) << "3 of 3 requests";
  const BatchPlan plan = Plan({.rows = 6, .requests = 8});
  EXPECT_EQ(plan.requests, 1) << "nobody overtakes the one that does not fit";
  EXPECT_TRUE(plan.is_full);
}

TEST_F(BatchPlanTest, RequestPastShrunkenLimitsLeavesAlone) {
  Queue(0, 5);
  Queue(0, 1);
  const BatchPlan plan = Plan({.rows = 4, .requests = 4});
  EXPECT_EQ(plan.requests, 1);
  EXPECT_EQ(plan.rows, 5);
  EXPECT_TRUE(plan.is_full);
}

// A level that waits while `rows` of a more urgent one start.
LevelShares::Started UrgentRows(int32_t rows, int32_t own_rows = 0) {
  return {.time = Milliseconds(1),
          .max_rows = 10,
          .urgent_rows = rows,
          .own_rows = own_rows,
          .waits = true};
}

TEST_F(BatchPlanTest, LevelTakesWhatItIsOwedBeforeUrgentOnes) {
  Queue(0, 2);
  Queue(1, 1);
  Queue(1, 1);
  Queue(1, 1);
  shares_.Count(1, UrgentRows(40));
  EXPECT_EQ(shares_.Owed(1), 2);
  EXPECT_EQ(Order(), (Rows{1, 1, 2, 1}));
}

TEST_F(BatchPlanTest, RequestLargerThanWhatIsOwedWaitsItsTurn) {
  Queue(0, 2);
  Queue(1, 3);
  shares_.Count(1, UrgentRows(40));
  EXPECT_EQ(shares_.Owed(1), 2);
  EXPECT_EQ(Order(), (Rows{2, 3}));
}

TEST(LevelShares, LevelSavesUpToABatchWhileItWaits) {
  LevelShares shares(2);
  int batches = 0;
  for (; shares.Owed(1) < 10; ++batches) {
    shares.Count(1, UrgentRows(10));
  }
  EXPECT_GE(batches, 18);
  EXPECT_LE(batches, 20) << "5 % at least";
  shares.Count(1, UrgentRows(1000));
  EXPECT_EQ(shares.Owed(1), 10);
  shares.Count(1, UrgentRows(6, 4));
  EXPECT_EQ(shares.Owed(1), 6);
}

TEST(LevelShares, LevelWithoutWorkIsOwedNothing) {
  LevelShares shares(2);
  shares.Count(1, UrgentRows(100));
  EXPECT_EQ(shares.Owed(1), 5);
  shares.Count(1, {.urgent_rows = 9, .own_rows = 1});
  EXPECT_EQ(shares.Owed(1), 0);
}

TEST(LevelShares, LevelThatGetsMoreThanItsFloorIsOwedNothing) {
  LevelShares shares(2);
  shares.Count(1, UrgentRows(4, 6));
  EXPECT_EQ(shares.Owed(1), 0);
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
