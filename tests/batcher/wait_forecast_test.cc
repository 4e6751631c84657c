// WaitForecast: when a request would be answered, given what is ahead of it.
#include "batcher/wait_forecast.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TimePoint At(double ms) { return TimePoint() + Milliseconds(ms); }

// s(b) = 1 ms + 0.5 ms * b, at most 8 rows: 5 ms.
WaitForecast::Facts Device() {
  return {.full_rows = 8,
          .full_batch = Milliseconds(5),
          .own = {.one_row = Milliseconds(1.5), .full = Milliseconds(5)},
          .lane_free_at = At(0),
          .believed_until = At(1000)};
}

TimePoint FinishOf(const WaitForecast::Facts& facts, int64_t rows_ahead,
                   int32_t rows = 1, TimePoint now = At(100)) {
  WaitForecast forecast;
  forecast.Publish(facts, 2);
  return forecast.FinishOf(0, {rows_ahead, rows_ahead}, {rows}, now);
}

TEST(WaitForecast, AloneItTakesItsOwnBatch) {
  EXPECT_EQ(FinishOf(Device(), 0), At(101.5));
  EXPECT_EQ(FinishOf(Device(), 0, 4), At(103));
}

TEST(WaitForecast, SharesTheBatchOfThoseAhead) {
  EXPECT_EQ(FinishOf(Device(), 5), At(104));
  EXPECT_EQ(FinishOf(Device(), 7), At(105)) << "the last that fits";
}

TEST(WaitForecast, WaitsForFullBatchesAheadAndLeavesWithAFullOne) {
  EXPECT_EQ(FinishOf(Device(), 8), At(110));
  EXPECT_EQ(FinishOf(Device(), 15), At(110));
  EXPECT_EQ(FinishOf(Device(), 16), At(115));
  EXPECT_EQ(FinishOf(Device(), 6, 3), At(110)) << "does not fit behind 6";
}

TEST(WaitForecast, CareTakesAQuarterOfTheTimeToSpareAtMost) {
  WaitForecast::Facts facts = Device();
  facts.own.one_row_care = Milliseconds(2);
  facts.own.full_care = Milliseconds(9);
  WaitForecast forecast;
  forecast.Publish(facts, 1);
  const auto finish = [&](int64_t rows_ahead, TimePoint due) {
    return forecast.FinishOf(0, {rows_ahead, rows_ahead}, {.due = due},
                             At(100));
  };
  EXPECT_EQ(finish(0, kNever), At(103.5));
  EXPECT_EQ(finish(0, At(101.5 + 8)), At(103.5));
  EXPECT_EQ(finish(0, At(101.5 + 4)), At(102.5));
  EXPECT_EQ(finish(0, At(101)), At(101.5)) << "it has none";
  EXPECT_EQ(finish(7, kNever), At(114)) << "of a full batch";
  EXPECT_EQ(finish(8, At(105 + 8)), At(112)) << "of its own batch alone";
}

TEST(WaitForecast, WaitsForTheLane) {
  WaitForecast::Facts facts = Device();
  facts.lane_free_at = At(103);
  EXPECT_EQ(FinishOf(facts, 0), At(104.5));
}

TEST(WaitForecast, LaneThatHasEndedIsNotWaitedFor) {
  WaitForecast::Facts facts = Device();
  facts.lane_free_at = At(2000);  // it failed early
  WaitForecast forecast;
  forecast.Publish(facts, 1);
  EXPECT_EQ(forecast.FinishOf(0, {.lane_has_ended = true}, {1}, At(100)),
            At(101.5));
}

TEST(WaitForecast, StretchesTheWaitButNotTheOwnBatch) {
  WaitForecast::Facts facts = Device();
  facts.levels[0].stretch = 0.2;
  EXPECT_EQ(FinishOf(facts, 0), At(101.5)) << "nobody to wait for";
  EXPECT_EQ(FinishOf(facts, 16), At(117)) << "two batches, 12 ms for 10";
}

TEST(WaitForecast, LanesTakeTurns) {
  WaitForecast::Facts facts = Device();
  facts.lanes = 2;
  EXPECT_EQ(FinishOf(facts, 8), At(107.5)) << "they end one after the other";
  EXPECT_EQ(FinishOf(facts, 16), At(110));
  facts.idle_lanes = 2;
  EXPECT_EQ(FinishOf(facts, 8), At(105)) << "beside the batch ahead";
  EXPECT_EQ(FinishOf(facts, 16), At(107.5));
}

TEST(WaitForecast, LastBatchesOfOtherShapesAreAhead) {
  WaitForecast::Facts facts = Device();
  facts.levels[0].fragments = Milliseconds(4);
  EXPECT_EQ(FinishOf(facts, 8), At(114));
}

TEST(WaitForecast, WhatOtherLevelsTakeMakesItLonger) {
  WaitForecast::Facts facts = Device();
  facts.levels[1].taken_by_others = 0.75;
  WaitForecast forecast;
  forecast.Publish(facts, 2);
  EXPECT_EQ(forecast.FinishOf(0, {16, 16}, {1}, At(100)), At(115));
  EXPECT_EQ(forecast.FinishOf(1, {16, 16}, {1}, At(100)), At(145));
  EXPECT_EQ(forecast.FinishOf(1, {0, 16}, {1}, At(100)), At(115))
      << "behind the urgent ones that are there";
  EXPECT_EQ(forecast.FinishOf(1, {0, 0}, {1}, At(100)), At(101.5));
}

TEST(WaitForecast, OwnBatchIsOneOfItsShape) {
  WaitForecast::Facts facts = Device();
  const WaitForecast::ShapeTimes shapes[] = {
      {.shape_key = 7,
       .own = {.one_row = Milliseconds(9), .full = Milliseconds(30)}},
      {.shape_key = 8,
       .own = {.one_row = Milliseconds(1), .full = Milliseconds(2)}}};
  facts.shapes = shapes;
  WaitForecast forecast;
  forecast.Publish(facts, 1);
  EXPECT_EQ(forecast.FinishOf(0, {}, {1, 7}, At(100)), At(109));
  EXPECT_EQ(forecast.FinishOf(0, {}, {8, 8}, At(100)), At(102));
  EXPECT_EQ(forecast.FinishOf(0, {}, {1, 9}, At(100)), At(101.5))
      << "another shape";
}

// What is queued: a row of its own shape and one that takes 30 ms.
TEST(WaitForecast, OwnPartOfTheLastBatchesIsNotWaitedFor) {
  WaitForecast::Facts facts = Device();
  facts.levels[0].fragments = Milliseconds(31.5);
  const WaitForecast::ShapeTimes shapes[] = {
      {.shape_key = 7,
       .own = {.one_row = Milliseconds(1.5), .full = Milliseconds(5)},
       .last = {Milliseconds(1.5)}},
      {.shape_key = 8,
       .own = {.one_row = Milliseconds(30), .full = Milliseconds(30)},
       .last = {Milliseconds(30)}}};
  facts.shapes = shapes;
  WaitForecast forecast;
  forecast.Publish(facts, 1);
  EXPECT_EQ(forecast.FinishOf(0, {}, {1, 7}, At(100)), At(131.5));
  EXPECT_EQ(forecast.FinishOf(0, {}, {1, 8}, At(100)), At(131.5));
}

TEST(WaitForecast, ShapesThatDidNotRunLatelyAreTried) {
  WaitForecast::Facts facts = Device();  // believed until 1000
  const WaitForecast::ShapeTimes shapes[] = {
      {.shape_key = 7, .believed_until = At(50)},
      {.shape_key = 8, .believed_until = At(1000)}};
  facts.shapes = shapes;
  facts.shapes_differ = true;
  WaitForecast forecast;
  forecast.Publish(facts, 1);
  const auto trials = [&](uint64_t shape_key, TimePoint now) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < WaitForecast::kTrial; ++i) {
      count += forecast.IsTrial(shape_key, now) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(trials(7, At(100)), 1u);
  EXPECT_EQ(trials(8, At(200)), 0u);
  EXPECT_EQ(trials(9, At(200)), 1u) << "it has no times of its own";
}

TEST(WaitForecast, IsNotBelievedForEver) {
  WaitForecast::Facts facts = Device();
  facts.believed_until = At(99);
  EXPECT_EQ(FinishOf(facts, 1000), At(100));
  EXPECT_EQ(WaitForecast().FinishOf(0, {1000, 1000}, {1}, At(100)), At(100))
      << "nothing was published yet";
  facts.fastest = Milliseconds(1.2);
  EXPECT_EQ(FinishOf(facts, 1000), At(101.2)) << "no batch was ever faster";
}

TEST(WaitForecast, OneInManyIsTriedWhereItIsNotBelieved) {
  WaitForecast forecast;
  forecast.Publish(Device(), 1);  // believed until 1000
  const auto trials = [&](TimePoint now) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3 * WaitForecast::kTrial; ++i) {
      const bool is_trial = forecast.IsTrial(0, now);
      EXPECT_FALSE(is_trial && i == 0) << "the first one is refused";
      count += is_trial ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(trials(At(1000)), 0u);
  EXPECT_EQ(trials(At(1001)), 1u) << "one at a time";
  EXPECT_EQ(trials(At(1001.1) + WaitForecast::kTrust), 0u);
  EXPECT_EQ(trials(At(1041.1) + WaitForecast::kTrust), 1u) << "eight batches";
}

}  // namespace
}  // namespace ferry
