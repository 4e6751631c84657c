// Tests FindKnee() on curves whose knee is known.
#include "bench/report/knee.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/report/report_json.h"

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

// The queue M/M/1 that serves 1,000/s: its power is highest at half of that
// (Kleinrock 1979).
RunResult MM1(const std::vector<double>& rates) {
  RunResult run;
  for (const double rate : rates) {
    PointResult& point = run.points.emplace_back();
    point.loop = "open";
    point.arrivals = "poisson";
    point.target_rate = point.achieved_rate = rate;
    point.planned = point.ok = 1000;
    point.latency.mean_us = 1e6 / (1000 - rate);
    point.latency.p99_us = 4.6 * point.latency.mean_us;
  }
  return run;
}

TEST(KneeTest, OfMM1IsAtHalfTheCapacity) {
  const auto knee = FindKnee(MM1({900, 300, 500, 400, 700}));
  ASSERT_TRUE(knee.has_value());
  EXPECT_EQ(knee->rate, 500);
  EXPECT_DOUBLE_EQ(knee->power, 500 * 500);
  EXPECT_FALSE(knee->is_lowest || knee->is_highest);
  EXPECT_EQ(Describe(*knee),
            "knee, the highest rate / mean latency: 500/s, mean 2.00 ms, p99 "
            "9.20 ms");
}

TEST(KneeTest, AtAnEndItMayBeBeyond) {
  EXPECT_THAT(Describe(*FindKnee(MM1({100, 200, 300, 400}))),
              HasSubstr("the highest rate measured: it may be above"));
  EXPECT_THAT(Describe(*FindKnee(MM1({600, 700, 800, 900}))),
              HasSubstr("the lowest rate measured: it may be below"));
}

TEST(KneeTest, TakesPointsThatStandAndEnoughOfThem) {
  RunResult run = MM1({300, 400, 500, 600});
  EXPECT_TRUE(FindKnee(run).has_value());
  run.points[2].void_reason = "late";
  EXPECT_FALSE(FindKnee(run).has_value());
  run = MM1({300, 400, 500, 600});
  run.points[0].arrivals = "bursts:8";
  EXPECT_FALSE(FindKnee(run).has_value());
  run = MM1({300, 400, 500, 500});
  EXPECT_FALSE(FindKnee(run).has_value());
}

TEST(KneeTest, IsOfSteadyPoints) {
  // 700/s fell behind: it is no knee, however short its latency.
  RunResult run = MM1({300, 400, 450, 490, 700});
  run.points[4].latency.mean_us = 100;
  EXPECT_EQ(FindKnee(run)->rate, 700);
  run.points[4].unsteady = "the median latency went up";
  const auto knee = FindKnee(run);
  ASSERT_TRUE(knee.has_value());
  EXPECT_EQ(knee->rate, 490);
  EXPECT_FALSE(knee->is_highest) << "700/s was measured";
  run.points[3].unsteady = run.points[4].unsteady;
  EXPECT_FALSE(FindKnee(run).has_value()) << "three rates are too few";
}

TEST(KneeTest, IsOfPointsWhoseRequestsSucceed) {
  // 700/s refused much, and was fast with the rest.
  RunResult run = MM1({300, 400, 450, 490, 700});
  run.points[4].latency.mean_us = 100;
  run.points[4].ok = 620;
  const auto knee = FindKnee(run);
  ASSERT_TRUE(knee.has_value());
  EXPECT_EQ(knee->rate, 490);
  EXPECT_FALSE(knee->is_highest) << "700/s was measured";
}

TEST(KneeTest, IsNotOfASearch) {
  RunResult run = MM1({300, 400, 500, 600, 700});
  run.points[0].purpose = "bisect: met";
  EXPECT_TRUE(FindKnee(run).has_value());
  run.points[1].purpose = "bracket: missed";
  EXPECT_FALSE(FindKnee(run).has_value()) << "three rates are no tries";
  run = MM1({300, 400, 500, 600});
  run.search = SearchSummary{.slo_ms = 10, .percentile = 99, .found_rate = 300};
  EXPECT_FALSE(FindKnee(run).has_value());
}

TEST(KneeTest, StandsInTheJson) {
  EXPECT_THAT(ToJson({MM1({300, 500, 600, 700})}),
              HasSubstr("\"knee\": {\n    \"rate\": 500.0"));
  EXPECT_THAT(ToJson({MM1({300})}), HasSubstr("\"knee\": null"));
}

}  // namespace
}  // namespace ferry::bench
