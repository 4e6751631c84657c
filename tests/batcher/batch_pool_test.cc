// Tests BatchPool: its bound, waiters, order of delivery, and when it is idle.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "batcher/batch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

constexpr Outcome kFailed = {absl::StatusCode::kInternal, "device failed"};

class BatchPoolTest : public ::testing::Test {
 protected:
  BatchPool Pool(int32_t batches, bool preserve_ordering = false) {
    return BatchPool({.batches = batches,
                      .max_requests = 2,
                      .max_rows = 4,
                      .preserve_ordering = preserve_ordering,
                      .clock = &clock_},
                     [this](InstanceId id) { told_.push_back(id); });
  }

  // A batch of one request that has its result.
  BatchPtr Finished(BatchPool& pool, TestRequest& request, int64_t sequence) {
    BatchPtr batch = pool.Take(0);
    batch->Add(request.request());
    batch->Close(clock_.Now(), CloseReason::kFull, sequence);
    batch->SetResult(kFailed, OutputRef());
    return batch;
  }

  FakeClock clock_;
  std::vector<InstanceId> told_;
};

TEST_F(BatchPoolTest, InstancesThatFoundNoneAreToldOnceOneIsBack) {
  BatchPool pool = Pool(1);
  BatchPtr batch = pool.Take(0);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(pool.Take(1), nullptr);
  EXPECT_EQ(pool.Take(2), nullptr);
  EXPECT_EQ(pool.Take(1), nullptr);
  EXPECT_TRUE(told_.empty());
  batch.reset();
  EXPECT_EQ(told_, (std::vector<InstanceId>{1, 2}));
  EXPECT_NE(pool.Take(2), nullptr);
  EXPECT_EQ(told_.size(), 2u) << "none waits any more";
}

TEST_F(BatchPoolTest, DeliveredBatchIsBack) {
  BatchPool pool = Pool(1);
  TestRequest request;
  BatchPtr batch = Finished(pool, request, 0);
  EXPECT_EQ(pool.under_way(), 1);
  Deliver(std::move(batch));
  EXPECT_EQ(pool.under_way(), 0);
  EXPECT_EQ(request.code(), absl::StatusCode::kInternal);
}

TEST_F(BatchPoolTest, ResultsSayWhetherThereIsTimeToReply) {
  for (const bool preserve_ordering : {false, true}) {
    BatchPool pool = Pool(1, preserve_ordering);
    BatchPtr batch = pool.Take(0);
    TestRequest requests[2];
    for (TestRequest& request : requests) {
      batch->Add(request.request());
    }
    batch->Close(clock_.Now(), CloseReason::kFull, 0);
    batch->SetResult({absl::StatusCode::kInternal, "failed"}, OutputRef());
    requests[0].completion().on_respond = [&] {
      clock_.Advance(Milliseconds(1));
    };
    Deliver(std::move(batch), clock_.Now() + Milliseconds(1));
    EXPECT_EQ(requests[0].completion().has_time(), !preserve_ordering)
        << "a result that is kept must not be overtaken";
    EXPECT_FALSE(requests[1].completion().has_time()) << "the time is over";
  }
}

TEST_F(BatchPoolTest, DeliversInOrderWhereItPreservesIt) {
  BatchPool pool = Pool(3, /*preserve_ordering=*/true);
  TestRequest requests[3];
  std::vector<BatchPtr> batches;
  for (int i = 0; i < 3; ++i) {
    batches.push_back(Finished(pool, requests[i], i));
  }
  Deliver(std::move(batches[2]));
  Deliver(std::move(batches[1]));
  EXPECT_FALSE(requests[1].completion().is_answered());
  EXPECT_EQ(pool.under_way(), 3) << "parked ones are under way";
  Deliver(std::move(batches[0]));
  for (TestRequest& request : requests) {
    EXPECT_TRUE(request.completion().is_answered());
  }
  EXPECT_EQ(pool.under_way(), 0);
}

TEST_F(BatchPoolTest, IsIdleOnceNothingIsQueuedUnderWayOrBeingAnswered) {
  BatchPool pool = Pool(1);
  bool is_empty = true;
  const auto is_idle = [&] {
    return pool.WaitUntilIdle(clock_.Now(), [&] { return is_empty; });
  };
  EXPECT_TRUE(is_idle());
  is_empty = false;
  EXPECT_FALSE(is_idle());
  is_empty = true;
  pool.BeginAnswers();
  EXPECT_FALSE(is_idle());
  pool.EndAnswers();
  BatchPtr batch = pool.Take(0);
  EXPECT_FALSE(is_idle());
  batch.reset();
  EXPECT_TRUE(is_idle());
}

}  // namespace
}  // namespace ferry
