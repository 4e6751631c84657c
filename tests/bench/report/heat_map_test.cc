// Tests which settings go into which grid, and what their cells hold.
#include "bench/report/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RunResult Setting(const std::string& policy, int rows, double wait_ms,
                  std::optional<double> found_rate) {
  RunResult run;
  run.model = "mlp";
  run.runtime_options = RuntimeSetting{policy, rows, wait_ms};
  run.search =
      SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = found_rate};
  return run;
}

PointResult Missed(double target_rate, double achieved_rate) {
  PointResult point;
  point.loop = "open";
  point.purpose = "bracket: missed";
  point.target_rate = target_rate;
  point.achieved_rate = achieved_rate;
  point.ok = 1;
  return point;
}

std::vector<HeatGrid> Grids(const std::vector<RunResult>& runs,
                            std::optional<double> slo_ms = std::nullopt) {
  return HeatGrids(runs, slo_ms);
}

// A setting of `run`: each load has its rate and its p99.
RunResult Swept(int rows, const std::vector<std::pair<double, double>>& loads) {
  RunResult run = Setting("window", rows, 1, std::nullopt);
  run.search.reset();
  for (const auto& [rate, p99_ms] : loads) {
    PointResult& point = run.points.emplace_back();
    point.loop = "open";
    point.target_rate = point.achieved_rate = rate;
    point.planned = point.ok = 1000;
    point.latency.p99_us = p99_ms * 1e3;
  }
  return run;
}

TEST(HeatMapTest, OfASweepIsWhatKeepsTheBound) {
  const std::vector<RunResult> runs = {
      Swept(16, {{100, 5}, {200, 60}, {300, 400}}),
      Swept(64, {{100, 70}, {200, 80}})};
  auto grids = Grids(runs, 50);
  ASSERT_EQ(grids.size(), 1U);
  EXPECT_EQ(grids[0].cells.at({0, 0}).rate, 100);
  EXPECT_TRUE(grids[0].cells.at({0, 0}).is_best);
  EXPECT_TRUE(grids[0].cells.at({1, 0}).is_bound);
  EXPECT_EQ(grids[0].cells.at({1, 0}).rate, 100) << "the lowest that misses";

  grids = Grids(runs);
  EXPECT_EQ(grids[0].cells.at({0, 0}).rate, 300) << "the most that was served";
  EXPECT_FALSE(grids[0].cells.at({1, 0}).is_bound);
}

TEST(HeatMapTest, WithoutABoundIsTheMostThatWasCarried) {
  std::vector<RunResult> runs = {Swept(16, {{100, 5}, {200, 60}, {300, 400}}),
                                 Swept(64, {{100, 70}, {200, 80}})};
  runs[0].points[2].ok = 620;  // of 1,000
  runs[1].points[0].unsteady = "the median latency went up";
  runs[1].points[1].ok = 300;
  const auto grids = Grids(runs);
  EXPECT_EQ(grids[0].cells.at({0, 0}).rate, 200);
  EXPECT_TRUE(grids[0].cells.at({0, 0}).is_best);
  EXPECT_TRUE(grids[0].cells.at({1, 0}).is_bound);
  EXPECT_EQ(grids[0].cells.at({1, 0}).rate, 100) << "less than the least";
}

TEST(HeatMapTest, ASearchForAnotherBoundIsJudgedByItsPoints) {
  RunResult searched = Swept(16, {{300, 30}});
  searched.points[0].purpose = "confirm: met";
  searched.search =
      SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = 300};
  const std::vector<RunResult> runs = {searched, Swept(64, {{100, 5}})};
  EXPECT_FALSE(Grids(runs, 50)[0].cells.at({0, 0}).is_bound);
  EXPECT_TRUE(Grids(runs, 20)[0].cells.at({0, 0}).is_bound);
}

TEST(HeatMapTest, SortsSettingsIntoAGridAPolicy) {
  const auto grids =
      Grids({Setting("window", 64, 5, 300), Setting("window", 16, 1, 100),
             Setting("eager", 64, 5, 200)});
  ASSERT_EQ(grids.size(), 2U);
  EXPECT_EQ(grids[0].policy, "window");
  EXPECT_THAT(grids[0].batch_sizes, ElementsAre(16, 64));
  EXPECT_THAT(grids[0].waits_ms, ElementsAre(1, 5));
  EXPECT_EQ(grids[0].cells.size(), 2U);
  EXPECT_EQ(grids[0].cells.at({1, 1}).rate, 300);
  EXPECT_TRUE(grids[0].cells.at({1, 1}).is_best);
  EXPECT_THAT(grids[1].waits_ms, ElementsAre(0)) << "eager does not wait";
  EXPECT_FALSE(grids[1].cells.at({0, 0}).is_best);
}

TEST(HeatMapTest, GivenUpIsABoundAndNeverTheBest) {
  RunResult lost = Setting("window", 16, 1, std::nullopt);
  lost.points = {Missed(400, 250), Missed(350, 240)};
  const auto grids = Grids({Setting("window", 64, 1, 300), lost});
  const HeatCell& cell = grids[0].cells.at({0, 0});
  EXPECT_TRUE(cell.is_bound);
  EXPECT_EQ(cell.rate, 350) << "the lowest rate that missed";
  EXPECT_EQ(cell.served, 240);
  EXPECT_FALSE(cell.is_best);
  EXPECT_THAT(HeatMapToHtml(grids), HasSubstr("&lt; 350"));
}

TEST(HeatMapTest, ASettingTriedTwiceShowsWhatItFound) {
  RunResult lost = Setting("window", 64, 1, std::nullopt);
  lost.points = {Missed(400, 250)};
  const auto grids =
      Grids({lost, Setting("window", 64, 1, 300), Setting("window", 64, 1, 290),
             Setting("window", 16, 1, 90)});
  EXPECT_EQ(grids[0].cells.at({1, 0}).rate, 300);
}

TEST(HeatMapTest, NeedsSeveralSettings) {
  RunResult plain;
  plain.model = "mlp";
  EXPECT_THAT(Grids({plain}), IsEmpty());
  EXPECT_THAT(Grids({Setting("window", 64, 1, 300)}), IsEmpty());
  EXPECT_THAT(Grids({Setting("window", 64, 1, std::nullopt),
                     Setting("window", 16, 1, 300)}),
              IsEmpty())
      << "one of them says nothing";
  EXPECT_THAT(HeatMapToHtml({}), IsEmpty());
}

TEST(HeatMapTest, CellsHaveTheirShareAndGapsADash) {
  const std::string html = HeatMapToHtml(
      Grids({Setting("window", 64, 5, 4000), Setting("window", 16, 1, 1000),
             Setting("<b>", 8, 1, 10)}));
  EXPECT_THAT(html, HasSubstr("style=\"--heat:1.000\">4,000</td>"));
  EXPECT_THAT(html, HasSubstr("style=\"--heat:0.250\">1,000</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"heat untried\">-</td>"));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
}

}  // namespace
}  // namespace ferry::bench
