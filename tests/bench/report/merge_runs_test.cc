// Tests that results of several machines add up, and what is refused.
#include "bench/report/merge_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bench/load/load_result.h"
#include "bench/report/goodput.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

// What a machine measured with that seed: an open loop of 100/s.
LoadResult Measured(uint64_t seed) {
  std::mt19937_64 random(seed);
  LoadResult load;
  load.is_open = true;
  load.window = Milliseconds(10'000);
  for (int i = 0; i < 1000; ++i) {
    ++load.planned;
    ++load.ok_in_window;
    RecordLatency(load.send_lag, Duration(random() % 100'000));
    if (i % 100 == 0) {
      ++load.ended[14];
      RecordLatency(load.failed_latency, Duration(random() % 1'000'000));
      continue;
    }
    ++load.ended[0];
    RecordLatency(load.latency, Duration(random() % 20'000'000));
    RecordLatency(load.latency_from_send, Duration(random() % 19'000'000));
  }
  return load;
}

RunResult MeasuredRun(uint64_t seed) {
  RunResult run;
  run.label = "mlp";
  run.command = "run";
  run.model = "mlp";
  run.address = "10.0.0.1:8001";
  run.warm_up_s = 2;
  PointResult point = Summarize(Measured(seed), ServerWindow());
  point.loop = "open";
  point.arrivals = "poisson";
  point.target_rate = 100;
  point.seed = seed;
  point.begun = "2030-01-02T03:04:05.678Z";
  run.points = {point};
  return run;
}

absl::StatusOr<std::vector<RunResult>> MergeOf(const RunResult& one,
                                               const RunResult& other) {
  return MergeRuns({{"a.json", {one}}, {"b.json", {other}}});
}

TEST(MergeRunsTest, LatenciesAreThoseOfAllRequestsTogether) {
  LoadResult all = Measured(1);
  const LoadResult other = Measured(2);
  all.latency.Merge(other.latency);
  all.latency_from_send.Merge(other.latency_from_send);
  all.failed_latency.Merge(other.failed_latency);
  all.send_lag.Merge(other.send_lag);
  const auto merged = MergeOf(MeasuredRun(1), MeasuredRun(2));
  ASSERT_TRUE(merged.ok()) << merged.status();
  const PointResult& point = (*merged)[0].points[0];
  EXPECT_EQ(point.histograms.latency, RecordOf(all.latency));
  EXPECT_EQ(point.histograms.send_lag, RecordOf(all.send_lag));
  EXPECT_EQ(point.latency.p99_us, Summarize(all.latency).p99_us);
  EXPECT_EQ(point.latency.mean_us, Summarize(all.latency).mean_us);
  EXPECT_EQ(point.latency_from_send.p50_us,
            Summarize(all.latency_from_send).p50_us);
  EXPECT_EQ(point.failed_latency.max_us, Summarize(all.failed_latency).max_us);
}

TEST(MergeRunsTest, RatesAndCountsAddUp) {
  const auto merged = MergeOf(MeasuredRun(1), MeasuredRun(2));
  ASSERT_TRUE(merged.ok()) << merged.status();
  const PointResult& point = (*merged)[0].points[0];
  EXPECT_EQ(point.target_rate, 200);
  EXPECT_EQ(point.offered_rate, 200);
  EXPECT_EQ(point.planned, 2000u);
  EXPECT_EQ(point.ok, 1980u);
  EXPECT_EQ(point.errors.at("UNAVAILABLE"), 20u);
  EXPECT_EQ(point.arrivals, "poisson");
}

TEST(MergeRunsTest, GoodputIsOfTheJoinedLatencies) {
  RunResult one = MeasuredRun(1);
  RunResult other = MeasuredRun(2);
  SetGoodput(10, one);
  SetGoodput(10, other);
  const auto merged = MergeOf(one, other);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_DOUBLE_EQ(*(*merged)[0].points[0].goodput_rate,
                   *one.points[0].goodput_rate + *other.points[0].goodput_rate);
  EXPECT_GT(*other.points[0].goodput_rate, 0);
}

TEST(MergeRunsTest, DoubtOfTheSaturationIsThatOfTheJoinedLoops) {
  RunResult one = MeasuredRun(1);
  one.points[0].loop = "closed";
  one.points[0].outstanding = 32;
  one.saturation_rate = MeasuredSaturation(one);
  RunResult other = MeasuredRun(2);
  other.points[0].loop = "closed";
  other.points[0].outstanding = 32;
  other.points[0].unsteady = "the median latency went up";
  other.saturation_rate = MeasuredSaturation(other);
  const auto merged = MergeOf(one, other);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ((*merged)[0].saturation_rate,
            one.saturation_rate + other.saturation_rate);
  EXPECT_EQ(DoubtOfSaturation((*merged)[0]),
            "closed, 64 outstanding: unsteady: in b.json, point 1: the median "
            "latency went up");
}

TEST(MergeRunsTest, AVoidPartVoidsThePointAndIsNamed) {
  RunResult other = MeasuredRun(2);
  other.points[0].void_reason = "the client was late";
  const auto merged = MergeOf(MeasuredRun(1), other);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ((*merged)[0].points[0].void_reason,
            "in b.json, point 1: the client was late");
}

TEST(MergeRunsTest, ArrivalsWhoseSumHasNoNameAreToldAsSuch) {
  RunResult one = MeasuredRun(1), other = MeasuredRun(2);
  one.points[0].arrivals = other.points[0].arrivals = "gamma:3";
  const auto merged = MergeOf(one, other);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ((*merged)[0].points[0].arrivals, "2 x gamma:3");
}

TEST(MergeRunsTest, WhatIsNotOneLoadIsRefused) {
  struct Case {
    void (*change)(RunResult& run);
    const char* message;
  };
  const Case cases[] = {
      {[](RunResult& run) { run.model = "other"; },
       "b.json: expected the model as in the first file, mlp, got other"},
      {[](RunResult& run) { run.address = "10.0.0.2:8001"; }, "the server"},
      {[](RunResult& run) { run.warm_up_s = 1; }, "a warm-up"},
      {[](RunResult& run) { run.rows_per_request = 2; }, "requests"},
      {[](RunResult& run) { run.points.push_back(run.points[0]); }, "points"},
      {[](RunResult& run) { run.points[0].arrivals = "constant"; },
       "b.json, point 1: expected a load"},
      {[](RunResult& run) { run.points[0].window_s = 11; }, "a window"},
      {[](RunResult& run) { run.points[0].begun = "2030-01-02T03:04:08.678Z"; },
       "a window at the same time"},
      {[](RunResult& run) { run.points[0].seed = 1; }, "another seed"},
      {[](RunResult& run) { run.points[0].histograms = {}; }, "a histogram"},
      {[](RunResult& run) { run.points[0].interrupted = true; }, "cut short"},
      {[](RunResult& run) {
         run.points[0].histograms.latency.count = 990;
         run.points[0].histograms.latency.buckets.clear();
       },
       "its count of 990, got 0"},
  };
  for (const Case& one : cases) {
    RunResult other = MeasuredRun(2);
    one.change(other);
    EXPECT_THAT(MergeOf(MeasuredRun(1), other).status().message(),
                HasSubstr(one.message));
  }
  EXPECT_THAT(MergeRuns({{"a.json", {MeasuredRun(1)}}, {"b.json", {}}})
                  .status()
                  .message(),
              HasSubstr("b.json: expected runs"));
}

TEST(MergeRunsTest, OneFileTwiceIsNotTwoClients) {
  RunResult run = MeasuredRun(1);
  run.points[0].loop = "closed";
  EXPECT_THAT(std::string(MergeOf(run, run).status().message()),
              HasSubstr("expected another client's"));
}

TEST(MergeRunsTest, QueryIsOfOneClient) {
  RunResult one = MeasuredRun(1);
  RunResult other = MeasuredRun(2);
  one.points[0].loop = other.points[0].loop = "offline";
  EXPECT_THAT(std::string(MergeOf(one, other).status().message()),
              HasSubstr("a query is of one client"));
}

}  // namespace
}  // namespace ferry::bench
