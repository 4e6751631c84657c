// Counters to mean rows and busy ratio; metrics text to busy seconds.
#include "bench/client/server_probe.h"

#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

TEST(ParseBusySecondsTest, SumsTheLanesOfItsModel) {
  const auto busy = ParseBusySeconds(
      "# TYPE ferry_compute_busy_seconds_total counter\n"
      "ferry_compute_busy_seconds_total{model=\"mlp\",version=\"1\","
      "lane=\"0\"} 1.5\n"
      "ferry_compute_busy_seconds_total{model=\"mlp\",version=\"1\","
      "lane=\"1\"} 2.25 1700000000000\n"
      "ferry_compute_busy_seconds_total{model=\"other\",version=\"1\","
      "lane=\"0\"} 40\n"
      "ferry_compute_busy_seconds_total_more{model=\"mlp\"} 7\n",
      "mlp");
  ASSERT_TRUE(busy.has_value());
  EXPECT_DOUBLE_EQ(busy->seconds, 3.75);
  EXPECT_EQ(busy->lanes, 2);
}

TEST(ParseBusySecondsTest, FindsNothingWhereThereIsNothing) {
  EXPECT_FALSE(ParseBusySeconds("", "mlp").has_value());
  EXPECT_FALSE(
      ParseBusySeconds("ferry_compute_busy_seconds_total{model=\"mlp\"", "mlp")
          .has_value());
}

ServerCounters At(double seconds) {
  ServerCounters counters;
  counters.at = TimePoint(Milliseconds(seconds * 1e3));
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

TEST(DifferenceTest, ServerWithoutCountersGivesNone) {
  const ServerWindow window = Difference(At(0), At(1), 1);
  EXPECT_FALSE(window.mean_rows.has_value());
  EXPECT_FALSE(window.busy_ratio.has_value());
}

}  // namespace
}  // namespace ferry::bench
