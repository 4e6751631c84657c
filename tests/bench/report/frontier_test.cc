// Tests what the Pareto front keeps, what it leaves out, and what is chosen.
#include "bench/report/frontier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PointResult Point(double rate, double p99_ms) {
  PointResult point;
  point.loop = "open";
  point.achieved_rate = rate;
  point.planned = 1000;
  point.ok = 1000;
  point.latency.p99_us = p99_ms * 1e3;
  return point;
}

RunResult RunOf(std::vector<PointResult> points) {
  RunResult run;
  run.points = std::move(points);
  return run;
}

TEST(FrontierTest, KeepsWhatNoOtherBeatsInBoth) {
  const std::vector<RunResult> runs = {
      RunOf({Point(100, 5), Point(300, 20), Point(90, 6)}),
      RunOf({Point(200, 10), Point(200, 12), Point(250, 20)})};
  EXPECT_THAT(Frontier(runs), ElementsAre(PointPlace{0, 0}, PointPlace{1, 0},
                                          PointPlace{0, 1}));
}

TEST(FrontierTest, OfEqualPointsKeepsTheFirst) {
  EXPECT_THAT(Frontier({RunOf({Point(100, 5), Point(100, 5)})}),
              ElementsAre(PointPlace{0, 0}));
}

TEST(FrontierTest, LeavesOutWhatDoesNotStand) {
  PointResult is_void = Point(900, 1);
  is_void.void_reason = "late";
  PointResult cut = Point(900, 1);
  cut.interrupted = true;
  PointResult failed = Point(900, 0);
  failed.ok = 0;
  PointResult tried = Point(900, 1);
  tried.purpose = "bisect: met";
  PointResult confirmed = Point(800, 2);
  confirmed.purpose = "confirm: met";
  PointResult unsteady = Point(900, 1);
  unsteady.unsteady = "the median latency went up";
  const std::vector<RunResult> runs = {
      RunOf({is_void, cut, failed, tried, confirmed, unsteady})};
  EXPECT_THAT(Frontier(runs), ElementsAre(PointPlace{0, 4}));
  EXPECT_THAT(Frontier({}), IsEmpty());
}

TEST(FrontierTest, LeavesOutWhatShedsLoad) {
  PointResult shed = Point(900, 1);
  shed.ok = 620;  // of 1,000
  PointResult nearly = Point(800, 2);
  nearly.ok = 990;
  EXPECT_THAT(Frontier({RunOf({shed, nearly})}), ElementsAre(PointPlace{0, 1}));
  EXPECT_FALSE(Carries(shed));
  EXPECT_TRUE(IsSteady(shed)) << "it would go on like that";
}

TEST(ChosenTest, CarriesTheMostWithinTheBound) {
  std::vector<RunResult> runs = {
      RunOf({Point(100, 5), Point(200, 10), Point(300, 10.1)})};
  EXPECT_EQ(Chosen(runs, 10), (PointPlace{0, 1}));
  EXPECT_EQ(Chosen(runs, 4), std::nullopt);
  runs[0].points[1].unsteady = "the median latency went up";
  EXPECT_EQ(Chosen(runs, 10), (PointPlace{0, 0})) << "it would not last";
  runs[0].points[1].unsteady.clear();
  runs[0].points[1].ok = 989;  // of 1000
  EXPECT_EQ(Chosen(runs, 10), (PointPlace{0, 0})) << "too many failed";
  runs[0].points[0].loop = "closed";
  EXPECT_EQ(Chosen(runs, 10), std::nullopt) << "a closed loop hides a queue";
}

// Returns what a search leaves: 1,000/s missed its second confirmation, 980/s
// met all.
RunResult Searched() {
  RunResult run = RunOf({Point(1010, 5), Point(1000, 8), Point(1000, 9),
                         Point(980, 8), Point(980, 9)});
  const char* purposes[] = {"bisect: met", "confirm: met", "confirm: missed",
                            "confirm: met", "confirm: met"};
  for (size_t i = 0; i < run.points.size(); ++i) {
    run.points[i].purpose = purposes[i];
    run.points[i].target_rate = run.points[i].achieved_rate;
  }
  run.search = SearchSummary{.slo_ms = 10, .percentile = 99, .found_rate = 980};
  return run;
}

TEST(ChosenTest, OfASearchIsWhatItConfirmed) {
  RunResult run = Searched();
  EXPECT_EQ(Chosen({run}, 10), (PointPlace{0, 3}));
  run.search->found_rate.reset();
  EXPECT_EQ(Chosen({run}, 10), std::nullopt);
}

TEST(SearchedSloTest, IsThatOfAllSearches) {
  std::vector<RunResult> runs = {RunOf({}), RunOf({})};
  EXPECT_EQ(SearchedSloMs(runs), std::nullopt);
  runs[1].search =
      SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = {}};
  EXPECT_EQ(SearchedSloMs(runs), 50);
  runs[0].search =
      SearchSummary{.slo_ms = 20, .percentile = 99, .found_rate = {}};
  EXPECT_EQ(SearchedSloMs(runs), std::nullopt) << "two bounds";
  runs[0].search =
      SearchSummary{.slo_ms = 20, .percentile = 90, .found_rate = {}};
  EXPECT_EQ(SearchedSloMs(runs), 50) << "the chart is of p99";
}

}  // namespace
}  // namespace ferry::bench
