// Batcher over a backend that takes only full batches before a lane is free.
// On a fake clock.
#include <gtest/gtest.h>

#include <deque>

#include "tests/support/stepped_batcher.h"

namespace ferry {
namespace {

// One lane with two slots that computes for as long as the warm-up said.
class BatcherAhead : public ::testing::Test {
 protected:
  static SteppedBatcherOptions Options(Duration compute) {
    SteppedBatcherOptions options;
    options.batcher.max_batch_size = 4;
    options.backend = {.spec = RowSpec(kAnySize),
                       .slots = 2,
                       .starts_only_full_ahead = true,
                       .warm_up_samples = {{.rows = 1, .took = compute},
                                           {.rows = 4, .took = compute}}};
    return options;
  }

  void Begin(const SteppedBatcherOptions& options, int32_t rows = 1) {
    stepped_.emplace(options);
    running_since_ = stepped_->clock().Now();
    SubmitRows(rows);
    ASSERT_EQ(backend().running_count(), 1u);
    backend().Stage(0);
  }

  Wait SubmitRows(int32_t rows, int64_t width = 1, int32_t level = 0) {
    requests_.emplace_back(TestRequestOptions{.id = std::ssize(requests_),
                                              .rows = rows,
                                              .width = width,
                                              .level = level});
    stepped_->Submit(requests_.back());
    return stepped_->Step();
  }

  void PassTo(Duration since_running) {
    stepped_->clock().Advance(running_since_ + since_running -
                              stepped_->clock().Now());
    stepped_->Step();
  }

  ScriptedBackend& backend() { return stepped_->backend(); }

  std::deque<TestRequest> requests_;
  std::optional<SteppedBatcher> stepped_;
  TimePoint running_since_;
};

TEST_F(BatcherAhead, FullBatchLeavesShortlyBeforeTheLaneIsFree) {
  Begin(Options(Milliseconds(8)));
  EXPECT_EQ(SubmitRows(3).wake_at_rows, 4) << "it is not full yet";
  const Wait wait = SubmitRows(1);
  EXPECT_EQ(backend().running_count(), 1u);
  EXPECT_EQ(wait.wake_at_rows, Wait::kNoRows);
  EXPECT_GE(wait.until, running_since_ + Milliseconds(6));
  EXPECT_LT(wait.until, running_since_ + Milliseconds(7));
  PassTo(wait.until - running_since_);
  ASSERT_EQ(backend().running_count(), 2u);
  EXPECT_EQ(backend().batch(1).rows(), 4);
  stepped_->Settle();
}

TEST_F(BatcherAhead, BatchThatMayGrowWaitsUntilTheSlotIsFree) {
  Begin(Options(Milliseconds(8)));
  const Wait wait = SubmitRows(2);
  EXPECT_EQ(wait.until, kNever) << "no moment of its own";
  PassTo(Milliseconds(20));  // and the lane is late
  EXPECT_EQ(backend().running_count(), 1u);
  backend().EndCompute(0);
  EXPECT_FALSE(stepped_->batcher().WasNotified())
      << "the lane may deliver yet: it is free when the slot is";
  SubmitRows(1);
  EXPECT_EQ(backend().running_count(), 1u);
  backend().FreeSlot(0);
  EXPECT_TRUE(stepped_->batcher().WasNotified());
  stepped_->Step();
  ASSERT_EQ(backend().running_count(), 2u);
  EXPECT_EQ(backend().batch(1).rows(), 3);
  stepped_->Settle();
}

TEST_F(BatcherAhead, FullBatchLeavesWhereTheLaneIsFreeEarly) {
  Begin(Options(Milliseconds(8)));
  SubmitRows(4);
  backend().EndCompute(0);
  backend().FreeSlot(0);
  EXPECT_TRUE(stepped_->batcher().WasNotified());
  stepped_->Step();
  EXPECT_EQ(backend().running_count(), 2u);
  stepped_->Settle();
}

TEST_F(BatcherAhead, AThirdWaitsForASlot) {
  Begin(Options(Milliseconds(8)));
  SubmitRows(4);
  SubmitRows(4);
  PassTo(Milliseconds(20));
  EXPECT_EQ(backend().running_count(), 2u);
  backend().EndCompute(0);
  EXPECT_FALSE(stepped_->batcher().WasNotified());
  backend().FreeSlot(0);
  EXPECT_TRUE(stepped_->batcher().WasNotified()) << "to set its alarm";
  const Wait wait = stepped_->Step();
  EXPECT_EQ(backend().running_count(), 2u);
  EXPECT_LT(wait.until, kNever);
  stepped_->Settle();
}

TEST_F(BatcherAhead, NothingLeavesBesideAShortBatch) {
  Begin(Options(Milliseconds(0.5)));
  EXPECT_EQ(SubmitRows(4).until, kNever);
  PassTo(Milliseconds(2));
  EXPECT_EQ(backend().running_count(), 1u);
  stepped_->Settle();
}

TEST_F(BatcherAhead, NothingLeavesWhereAMoreUrgentOneMayCome) {
  SteppedBatcherOptions options = Options(Milliseconds(8));
  options.batcher.levels = {{}, {}};
  Begin(options, /*rows=*/4);
  SubmitRows(4, /*width=*/1, /*level=*/1);
  PassTo(Milliseconds(9));
  ASSERT_EQ(backend().running_count(), 1u);
  SubmitRows(2, /*width=*/2, /*level=*/0);
  backend().EndCompute(0);
  backend().FreeSlot(0);
  stepped_->Step();
  ASSERT_EQ(backend().running_count(), 2u);
  EXPECT_EQ(backend().batch(1).rows(), 2) << "the urgent one";
  stepped_->Settle();
}

TEST_F(BatcherAhead, FullShapeDoesNotOvertakeAnOlderOneThatMayGrow) {
  Begin(Options(Milliseconds(8)));
  SubmitRows(1, /*width=*/2);
  stepped_->clock().Advance(Milliseconds(1));
  SubmitRows(4, /*width=*/3);
  PassTo(Milliseconds(9));
  EXPECT_EQ(backend().running_count(), 1u);
  SubmitRows(3, /*width=*/2);
  ASSERT_EQ(backend().running_count(), 2u) << "now the older one is full";
  EXPECT_EQ(backend().batch(1).row_dims(0)[0], 2);
  stepped_->Settle();
}

TEST_F(BatcherAhead, PreferredSizeIsNotFull) {
  SteppedBatcherOptions options = Options(Milliseconds(8));
  options.batcher.enough_rows = 2;
  Begin(options);
  SubmitRows(3);
  PassTo(Milliseconds(9));
  EXPECT_EQ(backend().running_count(), 1u) << "one more may join";
  SubmitRows(1);
  EXPECT_EQ(backend().running_count(), 2u);
  stepped_->Settle();
}

TEST_F(BatcherAhead, RequestThatHasABatchOfItsOwnIsFull) {
  SteppedBatcherOptions options = Options(Milliseconds(8));
  options.batcher.max_requests_per_batch = 1;
  Begin(options);
  SubmitRows(2);
  PassTo(Milliseconds(7));
  ASSERT_EQ(backend().running_count(), 2u);
  EXPECT_EQ(backend().batch(1).rows(), 2);
  stepped_->Settle();
}

TEST_F(BatcherAhead, DrainedBatchDoesNotWaitToGrow) {
  Begin(Options(Milliseconds(8)));
  SubmitRows(2);
  stepped_->batcher().BeginDrain();
  stepped_->Step();
  PassTo(Milliseconds(8));
  EXPECT_EQ(backend().running_count(), 2u);
  stepped_->Settle();
}

}  // namespace
}  // namespace ferry
