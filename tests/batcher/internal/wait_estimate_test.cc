// Tests that WaitEstimate counts what is ahead of a request.
#include "batcher/internal/wait_estimate.h"

#include <gtest/gtest.h>

#include <vector>

namespace ferry {
namespace {

using Queue = WaitEstimate::Queue;
using Shape = WaitEstimate::Shape;

TimePoint At(double ms) { return TimePoint() + Milliseconds(ms); }

// s(b) = 1 ms + 0.5 ms * b, at most 8 rows: 5 ms; one instance, which is idle.
Queue Device() {
  return {.free_at = At(0),
          .valid_until = At(1000),
          .idle_instances = 1,
          .full_rows = 8,
          .full_batch = Milliseconds(5),
          .own = {.one_row = Milliseconds(1.5), .full = Milliseconds(5)}};
}

TimePoint FinishOf(const Queue& queue, int64_t rows_ahead, int32_t rows = 1) {
  WaitEstimate estimate;
  estimate.Publish(queue, {});
  return estimate.FinishOf({.rows = rows}, {rows_ahead, rows_ahead}, At(100));
}

TEST(WaitEstimate, LoneRequestTakesItsOwnBatch) {
  EXPECT_EQ(FinishOf(Device(), 0), At(101.5));
  EXPECT_EQ(FinishOf(Device(), 0, 4), At(103));
}

TEST(WaitEstimate, RequestSharesTheBatchOfThoseAhead) {
  EXPECT_EQ(FinishOf(Device(), 5), At(104));
  EXPECT_EQ(FinishOf(Device(), 7), At(105)) << "the last that fits";
}

TEST(WaitEstimate, RequestWaitsForFullBatchesAheadAndLeavesWithAFullOne) {
  EXPECT_EQ(FinishOf(Device(), 8), At(110));
  EXPECT_EQ(FinishOf(Device(), 15), At(110));
  EXPECT_EQ(FinishOf(Device(), 16), At(115));
  EXPECT_EQ(FinishOf(Device(), 6, 3), At(110)) << "does not fit behind 6";
}

TEST(WaitEstimate, SafetyMarginTakesAQuarterOfTheSlackAtMost) {
  Queue queue = Device();
  queue.own.one_row_margin = Milliseconds(2);
  queue.own.full_margin = Milliseconds(9);
  WaitEstimate estimate;
  estimate.Publish(queue, {});
  const auto finish = [&](int64_t rows_ahead, TimePoint due) {
    return estimate.FinishOf({.due = due}, {rows_ahead, rows_ahead}, At(100));
  };
  EXPECT_EQ(finish(0, kNever), At(103.5));
  EXPECT_EQ(finish(0, At(101.5 + 8)), At(103.5));
  EXPECT_EQ(finish(0, At(101.5 + 4)), At(102.5));
  EXPECT_EQ(finish(0, At(101)), At(101.5)) << "it has none";
  EXPECT_EQ(finish(7, kNever), At(114)) << "the margin of a full batch";
  EXPECT_EQ(finish(8, At(105 + 8)), At(112)) << "of its own batch alone";
}

TEST(WaitEstimate, RequestWaitsForTheFirstFreeInstance) {
  Queue queue = Device();
  queue.free_at = At(103);
  queue.idle_instances = 0;
  EXPECT_EQ(FinishOf(queue, 0), At(104.5));
}

TEST(WaitEstimate, InstancesTakeTurns) {
  Queue queue = Device();
  queue.instances = 2;
  queue.idle_instances = 0;
  EXPECT_EQ(FinishOf(queue, 8), At(107.5)) << "they end one after the other";
  EXPECT_EQ(FinishOf(queue, 16), At(110));
  queue.idle_instances = 2;
  EXPECT_EQ(FinishOf(queue, 8), At(105)) << "beside the batch ahead";
  EXPECT_EQ(FinishOf(queue, 16), At(107.5));
}

TEST(WaitEstimate, PartialBatchesOfOtherShapesAreAhead) {
  Queue queue = Device();
  queue.partial_batches = Milliseconds(4);
  EXPECT_EQ(FinishOf(queue, 8), At(114));
}

TEST(WaitEstimate, LevelCountsOnItsShareOfTheTime) {
  WaitEstimate estimate;
  estimate.Publish(Device(), {});
  estimate.PublishLevel(1, {.share = 0.25});
  const auto finish = [&](int32_t level, int64_t of_level, int64_t up_to) {
    return estimate.FinishOf({.level = level}, {of_level, up_to}, At(100));
  };
  EXPECT_EQ(finish(0, 16, 16), At(115));
  EXPECT_EQ(finish(1, 16, 16), At(145));
  EXPECT_EQ(finish(1, 0, 16), At(115)) << "behind the urgent ones there are";
  EXPECT_EQ(finish(1, 0, 0), At(101.5));
}

TEST(WaitEstimate, RequestThatIsDelayedByItsLevelIsCounted) {
  WaitEstimate estimate;
  EXPECT_EQ(estimate.DelayedRows(1), 0);
  estimate.PublishLevel(1, {.delayed_rows = 7});
  EXPECT_EQ(estimate.DelayedRows(1), 7);
}

TEST(WaitEstimate, OwnBatchIsOneOfItsShape) {
  Queue queue = Device();
  queue.shape_count = 2;
  const std::vector<Shape> shapes = {
      {.key = 7, .own = {.one_row = Milliseconds(9), .full = Milliseconds(30)}},
      {.key = 8, .own = {.one_row = Milliseconds(1), .full = Milliseconds(2)}}};
  WaitEstimate estimate;
  estimate.Publish(queue, shapes);
  const auto finish = [&](int32_t rows, uint64_t key) {
    return estimate.FinishOf({.rows = rows, .shape_key = key}, {}, At(100));
  };
  EXPECT_EQ(finish(1, 7), At(109));
  EXPECT_EQ(finish(8, 8), At(102));
  EXPECT_EQ(finish(1, 9), At(101.5)) << "another shape";
}

TEST(WaitEstimate, StaleEstimateRefusesOnlyWhatNoBatchCouldServe) {
  Queue queue = Device();
  queue.valid_until = At(99);
  EXPECT_EQ(FinishOf(queue, 1000), At(100));
  EXPECT_EQ(WaitEstimate().FinishOf({}, {1000, 1000}, At(100)), At(100))
      << "nothing was published yet";
  queue.fastest = Milliseconds(1.2);
  EXPECT_EQ(FinishOf(queue, 1000), At(101.2)) << "no batch was ever faster";
}

int64_t Probes(WaitEstimate& estimate, int64_t tries, TimePoint now,
               uint64_t shape_key = 0) {
  int64_t count = 0;
  for (int64_t i = 0; i < tries; ++i) {
    count += estimate.TakeProbe(shape_key, now) ? 1 : 0;
  }
  return count;
}

TEST(WaitEstimate, OneInManyIsAProbeWhereTheEstimateIsStale) {
  WaitEstimate estimate;
  estimate.Publish(Device(), {});  // valid until 1000
  constexpr int64_t kTries = 3 * WaitEstimate::kProbe;
  EXPECT_EQ(Probes(estimate, kTries, At(1000)), 0);
  EXPECT_EQ(Probes(estimate, WaitEstimate::kProbe - 1, At(1001)), 0);
  EXPECT_EQ(Probes(estimate, kTries, At(1001)), 1) << "one at a time";
  EXPECT_EQ(Probes(estimate, kTries, At(1001.1) + WaitEstimate::kValid), 0);
  EXPECT_EQ(Probes(estimate, kTries, At(1041.1) + WaitEstimate::kValid), 1)
      << "eight batches later";
}

TEST(WaitEstimate, ShapesThatDidNotRunLatelyAreProbed) {
  Queue queue = Device();  // valid until 1000
  queue.shape_count = 2;
  queue.shapes_differ = 1;
  const std::vector<Shape> shapes = {{.key = 7, .valid_until = At(50)},
                                     {.key = 8, .valid_until = At(1000)}};
  WaitEstimate estimate;
  estimate.Publish(queue, shapes);
  EXPECT_EQ(Probes(estimate, WaitEstimate::kProbe, At(100), 7), 1);
  EXPECT_EQ(Probes(estimate, WaitEstimate::kProbe, At(200), 8), 0);
  EXPECT_EQ(Probes(estimate, WaitEstimate::kProbe, At(200), 9), 1)
      << "it has no times of its own";
}

}  // namespace
}  // namespace ferry
