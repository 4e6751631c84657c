// Tests Scheduler with instances that pull the next batch while one computes.
// On a fake clock.
#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

// One instance with two batches in flight that computes for as long as the
// warm-up said.
class SchedulerAhead : public ::testing::Test {
 protected:
  static SteppedSchedulerOptions Options(Duration compute) {
    SteppedSchedulerOptions options;
    options.scheduler.max_batch_size = 4;
    options.instances = {.spec = RowSpec(kAnySize),
                         .max_in_flight = 2,
                         .warm_up_samples = {{.rows = 1, .took = compute},
                                             {.rows = 4, .took = compute}}};
    return options;
  }

  void Begin(const SteppedSchedulerOptions& options, int32_t rows = 1) {
    stepped_.emplace(options);
    running_since_ = stepped_->clock().Now();
    SubmitRows(rows);
    ASSERT_EQ(instances().running_count(), 1u);
    instances().Stage(0);
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
    stepped_->StepWhatIsDue();
  }

  ScriptedInstances& instances() { return stepped_->instances(); }

  std::deque<TestRequest> requests_;
  std::optional<SteppedScheduler> stepped_;
  TimePoint running_since_;
};

TEST_F(SchedulerAhead, FullBatchLeavesAtOnce) {
  Begin(Options(Milliseconds(8)));
  EXPECT_EQ(SubmitRows(3).wake_at_rows, 4) << "it is not full yet";
  SubmitRows(1);
  ASSERT_EQ(instances().running_count(), 2u);
  EXPECT_EQ(instances().batch(1).rows(), 4);
  stepped_->Settle();
}

TEST_F(SchedulerAhead, BatchThatMayGrowLeavesJustBeforeTheDeviceIsFree) {
  Begin(Options(Milliseconds(8)));
  const Wait wait = SubmitRows(2);
  EXPECT_GT(wait.until, running_since_ + Milliseconds(7.5));
  EXPECT_LT(wait.until, running_since_ + Milliseconds(8));
  PassTo(wait.until - running_since_ - Duration(1));
  EXPECT_EQ(instances().running_count(), 1u);
  PassTo(wait.until - running_since_);
  ASSERT_EQ(instances().running_count(), 2u);
  EXPECT_EQ(instances().batch(1).rows(), 2);
  stepped_->Settle();
}

TEST_F(SchedulerAhead, BatchLeavesWhereTheComputeEndsEarly) {
  Begin(Options(Milliseconds(8)));
  SubmitRows(2);
  instances().EndCompute(0);
  EXPECT_TRUE(stepped_->IsStepDue()) << "Finished() wakes that instance";
  stepped_->StepWhatIsDue();
  EXPECT_EQ(instances().running_count(), 2u);
  stepped_->Settle();
}

TEST_F(SchedulerAhead, ComputeThatEndsWithAnEmptyQueueWakesNothing) {
  Begin(Options(Milliseconds(8)));
  stepped_->StepWhatIsDue();
  instances().EndCompute(0);
  EXPECT_FALSE(stepped_->IsStepDue());
  requests_.emplace_back();
  stepped_->Submit(requests_.back());
  EXPECT_TRUE(stepped_->IsStepDue()) << "it waits for the next row";
  stepped_->Settle();
}

TEST_F(SchedulerAhead, AThirdWaitsUntilOneIsComputed) {
  Begin(Options(Milliseconds(8)));
  SubmitRows(4);
  SubmitRows(4);
  PassTo(Milliseconds(20));
  EXPECT_EQ(instances().running_count(), 2u);
  instances().EndCompute(0);
  stepped_->StepWhatIsDue();
  EXPECT_EQ(instances().running_count(), 3u) << "one of them is delivered yet";
  stepped_->Settle();
}

TEST_F(SchedulerAhead, StagingMakesABatchLeaveEarlier) {
  SteppedSchedulerOptions options = Options(Milliseconds(8));
  stepped_.emplace(options);
  // What it learns of the gather and the copy in of many batches.
  for (int i = 0; i < 100; ++i) {
    requests_.emplace_back();
    stepped_->Submit(requests_.back());
    BatchPtr batch = stepped_->scheduler().TryNextBatch(0);
    ASSERT_NE(batch, nullptr);
    const TimePoint now = stepped_->clock().Now();
    stepped_->clock().Advance(Milliseconds(8));
    batch->SetResult({absl::StatusCode::kInternal, ""}, OutputRef());
    stepped_->scheduler().Finished(*batch, 0,
                                   {.staging = Milliseconds(2),
                                    .compute_begin = now,
                                    .compute_end = stepped_->clock().Now()},
                                   Computed::kOk);
    Deliver(std::move(batch));
  }
  running_since_ = stepped_->clock().Now();
  SubmitRows(1);
  const Wait wait = SubmitRows(2);
  EXPECT_GT(wait.until, running_since_ + Milliseconds(5.5));
  EXPECT_LT(wait.until, running_since_ + Milliseconds(6));
  stepped_->Settle();
}

TEST_F(SchedulerAhead, NothingLeavesEarlyWhereAMoreUrgentOneMayCome) {
  SteppedSchedulerOptions options = Options(Milliseconds(8));
  options.scheduler.levels = {{}, {}};
  Begin(options, /*rows=*/4);
  SubmitRows(4, /*width=*/1, /*level=*/1);
  ASSERT_EQ(instances().running_count(), 1u);
  SubmitRows(2, /*width=*/2, /*level=*/0);
  instances().EndCompute(0);
  stepped_->StepWhatIsDue();
  ASSERT_GE(instances().running_count(), 2u);
  EXPECT_EQ(instances().batch(1).rows(), 2) << "the urgent one";
  stepped_->Settle();
}

TEST_F(SchedulerAhead, FullShapeDoesNotOvertakeAnOlderOneThatMayGrow) {
  Begin(Options(Milliseconds(8)));
  SubmitRows(1, /*width=*/2);
  stepped_->clock().Advance(Milliseconds(1));
  SubmitRows(4, /*width=*/3);
  EXPECT_EQ(instances().running_count(), 1u);
  SubmitRows(3, /*width=*/2);
  ASSERT_EQ(instances().running_count(), 2u) << "now the older one is full";
  EXPECT_EQ(instances().batch(1).row_dims(0)[0], 2);
  stepped_->Settle();
}

TEST_F(SchedulerAhead, PreferredSizeIsNotFull) {
  SteppedSchedulerOptions options = Options(Milliseconds(8));
  options.scheduler.enough_rows = 2;
  Begin(options);
  SubmitRows(3);
  EXPECT_EQ(instances().running_count(), 1u) << "one more may join";
  SubmitRows(1);
  EXPECT_EQ(instances().running_count(), 2u);
  stepped_->Settle();
}

TEST_F(SchedulerAhead, DrainedBatchLeavesJustInTime) {
  Begin(Options(Milliseconds(8)));
  SubmitRows(2);
  stepped_->scheduler().BeginDrain();
  PassTo(Milliseconds(8));
  EXPECT_EQ(instances().running_count(), 2u);
  stepped_->Settle();
}

}  // namespace
}  // namespace ferry
