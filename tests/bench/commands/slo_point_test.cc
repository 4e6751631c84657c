// Tests which point says what a replica carries, and what is said where none
// does.
#include "bench/commands/slo_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "bench/report/frontier.h"

namespace ferry::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PointResult Open(double rate, double p99_ms) {
  PointResult point;
  point.loop = "open";
  point.target_rate = rate;
  point.offered_rate = rate;
  point.achieved_rate = rate;
  point.planned = 5000;
  point.ok = 5000;
  point.latency.p99_us = p99_ms * 1e3;
  return point;
}

PointResult Closed(double rate) {
  PointResult point = Open(rate, 1);
  point.loop = "closed";
  point.outstanding = 64;
  return point;
}

RunResult RunOf(const std::vector<PointResult>& points) {
  RunResult run;
  run.label = "on";
  run.model = "mlp";
  run.points = points;
  return run;
}

SloPoint Find(const std::vector<RunResult>& runs, double p99_ms) {
  const auto found = FindSloPoint(runs, p99_ms);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.value_or(SloPoint());
}

std::string Refusal(const RunResult& run, double p99_ms) {
  return std::string(FindSloPoint({run}, p99_ms).status().message());
}

TEST(SloPointTest, IsTheHighestRateWithinTheSlo) {
  const RunResult run =
      RunOf({Open(100, 5), Open(300, 20), Open(200, 10), Open(400, 21)});
  EXPECT_EQ(Find({run}, 20).lambda_max(), 300) << "20 ms is within 20 ms";
  EXPECT_EQ(Find({run}, 19).lambda_max(), 200);
  EXPECT_EQ(Find({run}, 20).label, "on");
  EXPECT_EQ(Find({run}, 20).model, "mlp");
}

TEST(SloPointTest, OfASearchOnlyWhatItFoundCounts) {
  RunResult run = RunOf({Open(400, 19), Open(310, 18), Open(310, 19),
                         Open(300, 18), Open(500, 40)});
  run.points[0].purpose = "bisect: met";
  run.points[1].purpose = "confirm: met";
  run.points[2].purpose = "confirm: missed";
  run.points[3].purpose = "confirm: met";
  run.points[4].purpose = "bracket: missed";
  run.search = {.slo_ms = 20, .percentile = 99, .found_rate = 300};
  const SloPoint found = Find({run}, 20);
  EXPECT_EQ(found.lambda_max(), 300) << "400/s met it by luck, 310/s once";
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(Chosen({run}, 20), (PointPlace{0, 3})) << "as the page has it";
  run.search->slo_ms = 10;
  EXPECT_THAT(
      Find({run}, 20).notes,
      Contains("its search was for p99 <= 10 ms, not for p99 <= 20 ms"));
  run.search = {.slo_ms = 20, .percentile = 95, .found_rate = 300};
  EXPECT_THAT(
      Find({run}, 20).notes,
      Contains("its search was for p95 <= 20 ms, not for p99 <= 20 ms"));
  run.search->percentile = 99;
  run.search->found_rate.reset();
  EXPECT_THAT(Refusal(run, 20), HasSubstr("open, 400/s: a try of a search"));
  EXPECT_THAT(Refusal(run, 20),
              HasSubstr("open, 310/s: a rate that the search did not confirm"));
}

TEST(SloPointTest, PointsThatDoNotStandDoNotCount) {
  PointResult is_void = Open(900, 1);
  is_void.void_reason = "the client was late";
  PointResult cut_short = Open(800, 1);
  cut_short.interrupted = true;
  PointResult failing = Open(700, 1);
  failing.ok = 4949;
  PointResult empty = Open(600, 0);
  empty.planned = 0;
  empty.ok = 0;
  const std::vector<PointResult> bad = {is_void, cut_short, failing, empty,
                                        Closed(500)};
  std::vector<PointResult> points = bad;
  points.push_back(Open(100, 1));
  EXPECT_EQ(Find({RunOf(points)}, 20).lambda_max(), 100);

  const std::string refusal = Refusal(RunOf(bad), 20);
  EXPECT_THAT(refusal, HasSubstr("open, 900/s: void: the client was late"));
  EXPECT_THAT(refusal, HasSubstr("open, 800/s: cut short"));
  EXPECT_THAT(refusal, HasSubstr("open, 700/s: 98.98 % succeeded"));
  EXPECT_THAT(refusal, HasSubstr("open, 600/s: 0.00 % succeeded"));
  EXPECT_THAT(refusal, HasSubstr("closed, 64 outstanding: a closed loop"));
}

TEST(SloPointTest, UnsteadyPointsCountAsMissed) {
  // Their queue grew, and the window ended before it was long.
  PointResult rising = Open(320, 800);
  rising.unsteady = "the median latency went up by 805 ms";
  PointResult behind = Open(310, 700);
  behind.achieved_rate = 290;
  const RunResult run = RunOf({Open(300, 10), behind, rising});
  const SloPoint found = Find({run}, 1000);
  EXPECT_EQ(found.lambda_max(), 300);
  EXPECT_THAT(
      found.notes,
      ElementsAre(HasSubstr("counts as missed (open, 310/s: unsteady: 310/s "
                            "were sent and 290/s answered: the queue grew)"),
                  HasSubstr("counts as missed (open, 320/s: unsteady: the "
                            "median latency went up by 805 ms)")));
  EXPECT_EQ(Chosen({run}, 1000), (PointPlace{0, 0})) << "as the page has it";
  EXPECT_THAT(Refusal(RunOf({rising}), 1000),
              HasSubstr("open, 320/s: unsteady: the median latency"));
}

TEST(SloPointTest, NinetyNinePercentIsEnough) {
  PointResult point = Open(100, 1);
  point.ok = 4950;
  EXPECT_EQ(Find({RunOf({point})}, 20).lambda_max(), 100);
}

TEST(SloPointTest, WhereNoneQualifiesItIsSaidWhy) {
  EXPECT_THAT(Refusal(RunOf({Open(100, 25)}), 20),
              HasSubstr("expected an open-loop point with p99 <= 20 ms and 99 "
                        "% successes, measured by `ferry-bench run` with "
                        "--rates or --loads; got open, 100/s: p99 25.00 ms"));
  EXPECT_THAT(Refusal(RunOf({}), 20), HasSubstr("got there are no points"));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      FindSloPoint({RunOf({Closed(100)})}, 20).status()));
}

TEST(SloPointTest, AnSloIsAPositiveNumber) {
  for (const double wrong :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(Refusal(RunOf({Open(100, 1)}), wrong),
                HasSubstr("p99 of the SLO: expected a number above 0"));
  }
}

TEST(SloPointTest, DoubtsAreSaid) {
  EXPECT_THAT(Find({RunOf({Open(100, 1), Open(200, 2)})}, 20).notes,
              Contains(HasSubstr("no higher rate was measured")));
  EXPECT_THAT(
      Find({RunOf({Open(100, 30), Open(200, 2), Open(210, 50)})}, 20).notes,
      ElementsAre(HasSubstr("a lower rate missed the SLO (open, "
                            "100/s: p99 30.00 ms)")));
  PointResult few = Open(100, 1);
  few.planned = 248;
  few.ok = 248;
  EXPECT_THAT(Find({RunOf({few})}, 20).notes,
              Contains(HasSubstr("the slowest 3 of 248 requests")));
}

TEST(SloPointTest, SmallStepsAndManyRequestsLeaveNoDoubt) {
  EXPECT_THAT(Find({RunOf({Open(100, 1), Open(110, 25)})}, 20).notes,
              IsEmpty());
  EXPECT_THAT(Find({RunOf({Open(100, 1), Open(144, 25)})}, 20).notes,
              ElementsAre(HasSubstr("the next rate that was measured, 144.0/s, "
                                    "missed the SLO")));
}

TEST(SloPointTest, RowsAndSimulatedDevicesAreSaid) {
  RunResult run = RunOf({Open(100, 1)});
  EXPECT_THAT(Find({run}, 20).notes, Not(Contains(HasSubstr("simulated"))));
  run.rows_per_request = 8;
  run.is_simulated = true;
  EXPECT_THAT(Find({run}, 20).notes,
              Contains(HasSubstr("'on' ran on a simulated device")));
  EXPECT_THAT(Find({run}, 20).notes,
              Contains(HasSubstr("a request has 8 rows")));
}

TEST(SelectRunsTest, SeveralLabelsNeedAChoice) {
  std::vector<RunResult> runs = {RunOf({}), RunOf({}), RunOf({})};
  runs[2].label = "off";
  EXPECT_EQ(SelectRuns(runs, "on", "r.json")->size(), 2U);
  EXPECT_EQ(SelectRuns({runs[2]}, "", "r.json")->at(0).label, "off");
  EXPECT_EQ(SelectRuns({runs[0], runs[1]}, "", "r.json")->size(), 2U);
  EXPECT_EQ(SelectRuns(runs, "", "r.json").status().message(),
            "r.json: expected the label of one of its runs, 'off' or 'on', "
            "got ''");
  EXPECT_FALSE(SelectRuns(runs, "other", "r.json").ok());
  EXPECT_FALSE(SelectRuns({}, "", "r.json").ok());
}

}  // namespace
}  // namespace ferry::bench
