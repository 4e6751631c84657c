// Tests which saturation utilization is a share of, and where there is none.
#include "bench/report/utilization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/report/page_tables.h"
#include "bench/report/percentile_text.h"
#include "bench/report/report_csv.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"
#include "bench/report/verdict.h"

namespace ferry::bench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

PointResult Point(const char* loop, double rate) {
  PointResult point;
  point.loop = loop;
  point.offered_rate = point.achieved_rate = rate;
  point.planned = point.ok = 1000;
  return point;
}

RunResult RunOf(std::vector<PointResult> points) {
  RunResult run;
  run.points = std::move(points);
  return run;
}

TEST(UtilizationTest, IsOfferedOverWhatAClosedLoopAchieved) {
  RunResult run =
      RunOf({Point("open", 900), Point("closed", 1000), Point("closed", 1200)});
  run.points[0].achieved_rate = 600;  // it was offered all the same
  run.points[0].busy_ratio = 0.99;
  EXPECT_DOUBLE_EQ(*UtilizationOf(run, run.points[0]), 0.75);
  run.saturation_rate = 1000;  // as the sweep has it
  EXPECT_DOUBLE_EQ(*UtilizationOf(run, run.points[0]), 0.9);
  run.points[0].offered_rate = 1300;
  EXPECT_DOUBLE_EQ(*UtilizationOf(run, run.points[0]), 1.3);
  EXPECT_FALSE(UtilizationOf(run, run.points[1]).has_value());
}

TEST(UtilizationTest, HasAColumnBesideTheBusyRatio) {
  RunResult run = RunOf({Point("open", 700), Point("closed", 1000)});
  run.points[0].busy_ratio = 0.97;
  const ReportTable table = MakeUtilizationTable({run});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.headings[2], "utilization");
  EXPECT_EQ(table.rows[0][2], "0.700");
  EXPECT_EQ(table.rows[0][3], "0.97");
}

TEST(UtilizationTest, VoidClosedLoopsAreNoSaturation) {
  RunResult run = RunOf({Point("open", 900), Point("closed", 1000)});
  run.points[1].void_reason = "the client was late";
  EXPECT_FALSE(SaturationOf(run).has_value());
  EXPECT_FALSE(UtilizationOf(run, run.points[0]).has_value());
  EXPECT_FALSE(HasUtilization({run}));
  EXPECT_TRUE(
      HasUtilization({run, RunOf({Point("open", 1), Point("closed", 2)})}));
}

TEST(UtilizationTest, UnsteadyClosedLoopsAreNoSaturation) {
  RunResult run =
      RunOf({Point("open", 300), Point("closed", 1000), Point("closed", 1200)});
  run.points[2].unsteady = "the server was UNAVAILABLE";
  EXPECT_DOUBLE_EQ(ClosedLoopSaturation(run), 1000);
  EXPECT_DOUBLE_EQ(SaturationOf(run)->rate, 1000);
  run.points[1].interrupted = true;
  EXPECT_DOUBLE_EQ(ClosedLoopSaturation(run), 0);
  EXPECT_FALSE(SaturationOf(run).has_value()) << "not what was left out";
}

TEST(UtilizationTest, TableSaysWhatTheSaturationLeavesOut) {
  RunResult run =
      RunOf({Point("closed", 1000), Point("closed", 1200), Point("open", 300)});
  run.label = "on";
  run.points[0].outstanding = 1;
  run.points[2].load = 0.3;
  run.points[1].outstanding = 64;
  run.points[1].unsteady = "the server was UNAVAILABLE";
  run.saturation_rate = 1000;
  const std::string note =
      "'on': its loads are shares of 1000/s, without closed, 64 outstanding "
      "(1200/s), which was unsteady: the server may do more";
  EXPECT_THAT(MakeTable({run}).notes, Contains(note));
  run.points[1].achieved_rate = 900;
  EXPECT_THAT(MakeTable({run}).notes, Not(Contains(note)));
}

TEST(UtilizationTest, SaturationOfAnUnsteadyLoopIsMarkedEverywhere) {
  RunResult run = RunOf({Point("open", 300), Point("closed", 1000)});
  run.label = "on";
  run.points[0].load = 0.3;
  run.points[1].outstanding = 64;
  run.points[1].unsteady = "the median latency went up";
  run.saturation_rate = MeasuredSaturation(run);
  EXPECT_EQ(run.saturation_rate, 1000);
  const std::string doubt =
      "closed, 64 outstanding: unsteady: the median latency went up";
  EXPECT_EQ(DoubtOfSaturation(run), doubt);
  EXPECT_THAT(MakeTable({run}).notes,
              Contains(HasSubstr("shares of 1000/s, which may not be its "
                                 "saturation (" +
                                 doubt)));
  run.points[0].load.reset();
  EXPECT_THAT(MakeTable({run}).notes, Not(Contains(HasSubstr("shares of"))))
      << "no load is a share of it";
  run.points[0].load = 0.3;
  EXPECT_THAT(ToJson({run}),
              HasSubstr("\"saturation_doubt\": \"" + doubt + "\""));
  EXPECT_THAT(ToCsv({run}), HasSubstr(doubt));
  EXPECT_THAT(Verdicts({run}, std::nullopt),
              Contains(HasSubstr("(unsteady: the median latency went up)")));
  run.search = SearchSummary{.slo_ms = 50, .found_rate = 900};
  EXPECT_STREQ(SaturationOf(run)->source, "search") << "which is surer";
  run.points[1].unsteady = "";
  EXPECT_EQ(DoubtOfSaturation(run), "");
}

TEST(UtilizationTest, SteadyLoopsComeBeforeFasterOnesThatAreNot) {
  RunResult run = RunOf({Point("closed", 900), Point("closed", 1000),
                         Point("closed", 1100), Point("closed", 1200)});
  run.points[1].unsteady = "the median latency went up";
  run.points[2].void_reason = "the client was late";
  run.points[3].interrupted = true;
  EXPECT_EQ(MeasuredSaturation(run), 900);
  run.points[0].ok = 0;
  EXPECT_EQ(MeasuredSaturation(run), 1000);
  run.points[1].ok = 0;
  EXPECT_EQ(MeasuredSaturation(run), 1100);
  run.points[2].ok = 0;
  EXPECT_EQ(MeasuredSaturation(run), 0) << "not of one that was cut short";
}

TEST(UtilizationTest, WithoutAClosedLoopItIsOfTheSearch) {
  RunResult run = RunOf({Point("open", 900)});
  run.search =
      SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = 1200};
  EXPECT_STREQ(SaturationOf(run)->source, "search");
  EXPECT_DOUBLE_EQ(*UtilizationOf(run, run.points[0]), 0.75);
  run.saturation_rate = 1800;
  EXPECT_STREQ(SaturationOf(run)->source, "closed loop");
  EXPECT_DOUBLE_EQ(*UtilizationOf(run, run.points[0]), 0.5);
  run.saturation_rate = 0;
  run.search->found_rate.reset();
  EXPECT_FALSE(SaturationOf(run).has_value());
}

TEST(PercentileTextTest, MarksWhatTooFewRequestsAreBehind) {
  EXPECT_EQ(PercentileMs(12345, 1000, 0.99), "12.35");
  EXPECT_EQ(PercentileMs(12345, 999, 0.99), "12.35?");
  EXPECT_EQ(PercentileMs(12345, 1, 1), "12.35");
  EXPECT_EQ(PercentileMs(0, 0, 0.5), "-");
}

}  // namespace
}  // namespace ferry::bench
