// Tests that counters become mean rows and busy ratio, and metrics busy
// seconds.
#include "bench/client/server_window.h"

#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

TEST(ParseBusySecondsTest, SumsTheInstancesOfItsModel) {
  const auto busy = ParseBusySeconds(
      "# TYPE ferry_compute_busy_seconds_total counter\n"
      "ferry_compute_busy_seconds_total{model=\"mlp\",version=\"1\","
      "model_instance=\"0\"} 1.5\n"
      "ferry_compute_busy_seconds_total{model=\"mlp\",version=\"1\","
      "model_instance=\"1\"} 2.25 1700000000000\n"
      "ferry_compute_busy_seconds_total{model=\"other\",version=\"1\","
      "model_instance=\"0\"} 40\n"
      "ferry_compute_busy_seconds_total_more{model=\"mlp\"} 7\n",
      "mlp");
  ASSERT_TRUE(busy.has_value());
  EXPECT_DOUBLE_EQ(busy->seconds, 3.75);
  EXPECT_EQ(busy->instances, 2);
}

TEST(ParseBusySecondsTest, FindsNothingWhereThereIsNothing) {
  EXPECT_FALSE(ParseBusySeconds("", "mlp").has_value());
  EXPECT_FALSE(
      ParseBusySeconds("ferry_compute_busy_seconds_total{model=\"mlp\"", "mlp")
          .has_value());
}

TEST(ParseCloseReasonsTest, AddsTheVersionsOfItsModel) {
  const CloseReasons reasons = ParseCloseReasons(
      "# TYPE ferry_batches_closed_total counter\n"
      "ferry_batches_closed_total{model=\"mlp\",version=\"1\","
      "reason=\"full\"} 5\n"
      "ferry_batches_closed_total{model=\"mlp\",version=\"2\","
      "reason=\"full\"} 2\n"
      "ferry_batches_closed_total{model=\"mlp\",version=\"1\","
      "reason=\"max_wait\"} 1e3\n"
      "ferry_batches_closed_total{model=\"other\",version=\"1\","
      "reason=\"full\"} 9\n",
      "mlp");
  EXPECT_EQ(reasons, (CloseReasons{{"full", 7}, {"max_wait", 1000}}));
}

ServerCounters At(double seconds) {
  ServerCounters counters;
  counters.metrics_at = counters.statistics_at =
      TimePoint(Milliseconds(seconds * 1e3));
  return counters;
}

TEST(DifferenceTest, TakesRowsAndBusyRatioFromStatistics) {
  ServerCounters begin = At(10);
  begin.has_statistics = true;
  begin.rows = 100;
  begin.executions = 10;
  begin.compute_ns = 1000000000;
  ServerCounters end = At(12);
  end.has_statistics = true;
  end.rows = 164;
  end.executions = 12;
  end.compute_ns = 4000000000;
  const ServerWindow window = Difference(begin, end, 2);
  EXPECT_DOUBLE_EQ(window.mean_rows.value(), 32);
  EXPECT_DOUBLE_EQ(window.busy_ratio.value(), 0.75);
  EXPECT_EQ(window.busy_source, "ModelStatistics");
  const ServerWindow of_unknown_instances = Difference(begin, end, 0);
  EXPECT_DOUBLE_EQ(of_unknown_instances.mean_rows.value(), 32);
  EXPECT_FALSE(of_unknown_instances.busy_ratio.has_value());
  EXPECT_EQ(of_unknown_instances.busy_source, "");
}

TEST(DifferenceTest, TimesAreMeansOfTheRequestsOfTheWindow) {
  ServerCounters begin = At(0);
  begin.has_statistics = true;
  begin.queue = {10, 1'000'000};
  begin.compute_input = {10, 10'000};
  begin.compute_infer = {10, 20'000};
  begin.compute_output = {10, 30'000};
  begin.batches = {{1, 10}, {8, 5}};
  ServerCounters end = begin;
  end.statistics_at += Milliseconds(1000);
  end.queue = {14, 1'480'000};
  end.compute_input = {14, 22'000};
  end.compute_infer = {14, 3'620'000};
  end.compute_output = {14, 38'000};
  end.batches = {{1, 10}, {8, 7}, {64, 1}};
  const ServerWindow window = Difference(begin, end, 1);
  ASSERT_TRUE(window.times.has_value());
  EXPECT_DOUBLE_EQ(window.times->queue_us, 120);
  EXPECT_DOUBLE_EQ(window.times->compute_input_us, 3);
  EXPECT_DOUBLE_EQ(window.times->compute_infer_us, 900);
  EXPECT_DOUBLE_EQ(window.times->compute_output_us, 2);
  EXPECT_EQ(window.batches, (std::map<uint64_t, uint64_t>{{8, 2}, {64, 1}}));
}

TEST(DifferenceTest, NothingIsSaidOfAServerThatWasStartedAnew) {
  ServerCounters begin = At(0);
  begin.has_statistics = true;
  begin.executions = 100;
  begin.queue = {100, 1000};
  ServerCounters end = At(10);
  end.has_statistics = true;
  end.executions = 3;
  end.queue = {3, 500};
  const ServerWindow window = Difference(begin, end, 1);
  EXPECT_FALSE(window.mean_rows.has_value());
  EXPECT_FALSE(window.times.has_value());
  EXPECT_FALSE(window.busy_ratio.has_value());
}

TEST(DifferenceTest, CloseReasonsAreThoseThatOccurred) {
  ServerCounters begin = At(0);
  begin.busy = BusySeconds{1, 1};
  begin.closed = {{"full", 4}, {"drain", 1}};
  ServerCounters end = At(1);
  end.busy = BusySeconds{2, 1};
  end.closed = {{"full", 104}, {"drain", 1}, {"max_wait", 3}};
  EXPECT_EQ(Difference(begin, end, 1).closed,
            (CloseReasons{{"full", 100}, {"max_wait", 3}}));
}

TEST(DifferenceTest, PrefersMetrics) {
  ServerCounters begin = At(0);
  begin.has_statistics = true;
  begin.busy = BusySeconds{1, 1};
  ServerCounters end = At(10);
  end.has_statistics = true;
  end.busy = BusySeconds{8, 1};
  const ServerWindow window = Difference(begin, end, 1);
  EXPECT_FALSE(window.mean_rows.has_value()) << "nothing was executed";
  EXPECT_DOUBLE_EQ(window.busy_ratio.value(), 0.7);
  EXPECT_EQ(window.busy_source, "metrics");
}

TEST(DifferenceTest, EachSourceHasItsOwnTime) {
  // The first statistics came 5 s late, after the metrics.
  ServerCounters begin = At(0);
  begin.has_statistics = true;
  begin.statistics_at += Milliseconds(5000);
  begin.busy = BusySeconds{1, 1};
  ServerCounters end = At(10);
  end.has_statistics = true;
  end.compute_ns = 4'000'000'000;
  end.busy = BusySeconds{8, 1};
  EXPECT_DOUBLE_EQ(Difference(begin, end, 1).busy_ratio.value(), 0.7);
  end.busy.reset();
  EXPECT_DOUBLE_EQ(Difference(begin, end, 1).busy_ratio.value(), 0.8);
}

TEST(DifferenceTest, ABusyRatioThatCannotBeIsNotTold) {
  ServerCounters begin = At(0);
  begin.has_statistics = true;
  begin.busy = BusySeconds{0, 2};
  ServerCounters end = At(10);
  end.has_statistics = true;
  end.compute_ns = 6'000'000'000;
  end.busy = BusySeconds{20.2, 2};
  EXPECT_EQ(Difference(begin, end, 1).busy_ratio, 1.0) << "1.01 by its clock";
  end.busy->seconds = 23.8;
  EXPECT_EQ(Difference(begin, end, 1).busy_ratio, 0.6);
  EXPECT_EQ(Difference(begin, end, 1).busy_source, "ModelStatistics");
  end.compute_ns = 11'900'000'000;
  EXPECT_EQ(Difference(begin, end, 1).busy_ratio, std::nullopt);
  EXPECT_EQ(Difference(begin, end, 1).busy_source, "");
}

TEST(DifferenceTest, ServerWithoutCountersGivesNone) {
  const ServerWindow window = Difference(At(0), At(1), 1);
  EXPECT_FALSE(window.mean_rows.has_value());
  EXPECT_FALSE(window.busy_ratio.has_value());
}

}  // namespace
}  // namespace ferry::bench
