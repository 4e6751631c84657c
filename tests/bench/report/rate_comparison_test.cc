// Tests that like is compared with like, and a label once.
#include "bench/report/rate_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PointResult Point(const std::string& loop, double rate) {
  PointResult point;
  point.loop = loop;
  point.achieved_rate = rate;
  point.planned = point.ok = 100;
  return point;
}

RunResult RunOf(const std::string& label, std::vector<PointResult> points) {
  RunResult run;
  run.label = label;
  run.model = "mlp";
  run.points = std::move(points);
  return run;
}

TEST(RateComparisonTest, RepeatsOfALabelCountTogether) {
  EXPECT_THAT(Compare({RunOf("A", {Point("closed", 4265)}),
                       RunOf("A", {Point("closed", 2552)})}),
              IsEmpty());
  EXPECT_THAT(
      Compare({RunOf("A", {Point("closed", 100)}),
               RunOf("B", {Point("closed", 150)}),
               RunOf("B", {Point("closed", 300)}),
               RunOf("A", {Point("closed", 200)})}),
      ElementsAre("'B' served up to 300/s in closed loops, 'A' 200/s: 1.5x"));
}

TEST(RateComparisonTest, TakesLoopsThatBothHave) {
  const RunResult both =
      RunOf("A", {Point("closed", 1000), Point("open", 100)});
  EXPECT_THAT(
      Compare({both, RunOf("B", {Point("open", 300)})}),
      ElementsAre("'B' carried 300/s, the most of the open loops tried, 'A' "
                  "100/s: 3.0x"));
  EXPECT_THAT(
      Compare({both, RunOf("B", {Point("closed", 500), Point("open", 300)})}),
      ElementsAre("'B' served up to 500/s in closed loops, 'A' 1000/s: 0.5x"));
  EXPECT_THAT(Compare({RunOf("A", {Point("closed", 1000)}),
                       RunOf("B", {Point("open", 300)})}),
              IsEmpty());
  EXPECT_THAT(Compare({RunOf("A", {Point("offline", 1000)}),
                       RunOf("B", {Point("offline", 300)})}),
              IsEmpty());
}

TEST(RateComparisonTest, TakesPointsThatAreCarried) {
  PointResult shed = Point("open", 900);
  shed.ok = 60;
  PointResult unsteady = Point("open", 800);
  unsteady.unsteady = "the median latency went up";
  PointResult is_void = Point("closed", 1000);
  is_void.void_reason = "late";
  EXPECT_THAT(
      Compare({RunOf("A", {Point("open", 100), is_void}),
               RunOf("B", {Point("open", 200), shed, unsteady, is_void})}),
      ElementsAre("'B' carried 200/s, the most of the open loops tried, 'A' "
                  "100/s: 2.0x"));
}

TEST(RateComparisonTest, ModelsDoNotCompare) {
  RunResult other = RunOf("B", {Point("open", 200)});
  EXPECT_EQ(Compare({RunOf("A", {Point("open", 100)}), other}).size(), 1U);
  other.model = "resnet50";
  EXPECT_THAT(Compare({RunOf("A", {Point("open", 100)}), other}), IsEmpty());
}

TEST(RateComparisonTest, OfSearchesIsWhatTheyFoundForOneBound) {
  RunResult a = RunOf("A", {Point("closed", 1000)});
  RunResult b = RunOf("B", {Point("closed", 1000)});
  a.search = SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = 700};
  EXPECT_THAT(Compare({a, b}), IsEmpty()) << "one of them is no search";
  b.search = SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = 350};
  EXPECT_THAT(Compare({a, b}),
              ElementsAre("'B' carries 350/s by its search, 'A' 700/s: 0.5x"));
  b.search->slo_ms = 20;
  EXPECT_THAT(Compare({a, b}), IsEmpty());
  b.search = SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = {}};
  EXPECT_THAT(Compare({a, b}), IsEmpty());
}

}  // namespace
}  // namespace ferry::bench
