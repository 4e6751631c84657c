// Tests which points say what a server carries.
#include "bench/report/point_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

PointResult Open(double target_rate, const std::string& purpose) {
  PointResult point;
  point.loop = "open";
  point.target_rate = target_rate;
  point.purpose = purpose;
  return point;
}

TEST(PointRulesTest, ATryConfirmsNothing) {
  EXPECT_TRUE(IsTry(Open(1, "bracket: met")));
  EXPECT_TRUE(IsTry(Open(1, "bisect: missed")));
  EXPECT_FALSE(IsTry(Open(1, "confirm: missed")));
  EXPECT_FALSE(IsTry(Open(1, "")));
}

TEST(PointRulesTest, ASearchConfirmsOneRate) {
  RunResult run;
  EXPECT_FALSE(IsUnconfirmed(run, Open(1000, ""))) << "there was no search";
  run.search = SearchSummary{.slo_ms = 10, .percentile = 99, .found_rate = 980};
  EXPECT_TRUE(IsUnconfirmed(run, Open(1000, "confirm: met")));
  EXPECT_FALSE(IsUnconfirmed(run, Open(980, "confirm: met")));
  PointResult closed = Open(0, "");
  closed.loop = "closed";
  EXPECT_FALSE(IsUnconfirmed(run, closed));
  run.search->found_rate.reset();
  EXPECT_TRUE(IsUnconfirmed(run, Open(980, "confirm: met")));
}

TEST(PointRulesTest, RateThatMetOnceIsToldWhereNoneIsConfirmed) {
  RunResult run;
  run.points = {Open(800, "bracket: met"), Open(1000, "bisect: met"),
                Open(1600, "bracket: missed"), Open(990, "confirm: unsteady")};
  EXPECT_FALSE(UnconfirmedRate(run).has_value()) << "there was no search";
  run.search = SearchSummary{.slo_ms = 10, .percentile = 99};
  EXPECT_EQ(UnconfirmedRate(run), 1000);
  run.search->found_rate = 980;
  EXPECT_FALSE(UnconfirmedRate(run).has_value());
}

TEST(PointRulesTest, SharesAreOfWhatWasPlanned) {
  PointResult point;
  EXPECT_EQ(SuccessShare(point), 0);
  point.planned = 8;
  point.ok = 6;
  EXPECT_EQ(SuccessShare(point), 0.75);
}

TEST(PointRulesTest, SaysWhyALoadIsNotCarried) {
  PointResult point = Open(0, "");
  point.planned = 1000;
  point.ok = 990;
  EXPECT_EQ(WhyNotCarried(point), "");
  point.unsteady = "it went up";
  EXPECT_EQ(WhyNotCarried(point), "unsteady: it went up");
  point.ok = 616;
  EXPECT_EQ(WhyNotCarried(point), "38.4 % failed");
}

TEST(PointRulesTest, ALoadWithoutSuccessIsSaid) {
  RunResult run;
  run.points = {Open(500, ""), Open(400, ""), Open(300, "")};
  run.points[0].ok = 1000;
  run.points[2].interrupted = true;
  EXPECT_THAT(LoadsWithoutSuccess(run), ::testing::ElementsAre("open, 400/s"));
  run.points[1].purpose = "bracket: missed";
  EXPECT_THAT(LoadsWithoutSuccess(run), ::testing::IsEmpty());
  run.points[1].purpose = "confirm: missed";
  run.search = SearchSummary{.slo_ms = 10, .percentile = 99, .found_rate = 500};
  EXPECT_THAT(LoadsWithoutSuccess(run), ::testing::IsEmpty())
      << "it stepped down from there";
}

TEST(PointRulesTest, AnOpenLoopThatFallsBehindIsUnsteady) {
  PointResult point = Open(1000, "");
  EXPECT_EQ(WhyUnsteady(point), "") << "nothing was sent";
  point.planned = 10'000;
  point.offered_rate = 1000;
  point.achieved_rate = 980;
  EXPECT_EQ(WhyUnsteady(point), "");
  point.achieved_rate = 975;
  EXPECT_EQ(WhyUnsteady(point),
            "1000/s were sent and 975/s answered: the queue grew");
  point.errors["UNANSWERED"] = 100;
  EXPECT_NE(WhyUnsteady(point), "") << "given up is no answer";
  point.errors["RESOURCE_EXHAUSTED"] = 100;  // 10/s
  EXPECT_EQ(WhyUnsteady(point), "") << "a refusal is an answer";
  point.errors.clear();
  point.ok = 9'750;
  point.latency.mean_us = 300'000;  // 300 are under way on average
  EXPECT_EQ(WhyUnsteady(point), "") << "250 more at its end are by chance";
  point.unsteady = "the median latency went up";
  EXPECT_EQ(WhyUnsteady(point), point.unsteady);
  point = Open(1000, "");
  point.loop = "closed";
  point.planned = 10;
  point.offered_rate = 1000;
  EXPECT_EQ(WhyUnsteady(point), "");
}

}  // namespace
}  // namespace ferry::bench
