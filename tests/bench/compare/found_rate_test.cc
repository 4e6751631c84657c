// Tests searches and tunes, compared by the rates that they found.
#include "bench/compare/found_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench/compare/comparison_text.h"

namespace ferry::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PointResult Confirmation(double rate) {
  PointResult point;
  point.loop = "open";
  point.arrivals = "poisson";
  point.target_rate = point.offered_rate = point.achieved_rate = rate;
  point.purpose = "confirm: met";
  point.planned = point.ok = 1000;
  return point;
}

RunResult Search(std::optional<double> found, double slo_ms = 20,
                 const std::string& date = "2026-01-01T00:00:00Z") {
  RunResult run;
  run.label = "mlp";
  run.date = date;
  run.search = {.slo_ms = slo_ms,
                .percentile = 99,
                .found_rate = found,
                .precision = 0.02};
  run.points = {Confirmation(found.value_or(100))};
  return run;
}

RunResult Tuned(const char* policy, std::optional<double> found) {
  RunResult run = Search(found);
  run.runtime_options = RuntimeSetting{.policy = policy, .max_batch_size = 64};
  run.label = policy;
  return run;
}

std::vector<std::string> LoadsOf(const Comparison& comparison) {
  std::vector<std::string> loads;
  for (const LoadComparison& load : comparison.loads) {
    loads.push_back(load.load);
  }
  return loads;
}

TEST(FoundRateTest, OneSearchEachIsComparedByTheirPrecision) {
  const Comparison comparison = CompareRuns({Search(2000)}, {Search(1600)});
  ASSERT_THAT(LoadsOf(comparison), ElementsAre("search, p99 <= 20 ms"));
  const LoadComparison& load = comparison.loads[0];
  EXPECT_EQ(load.method, Method::kPrecision);
  ASSERT_EQ(load.metrics.size(), 1U);
  const Metric& rate = load.metrics[0];
  EXPECT_EQ(rate.verdict, Verdict::kDiffers);
  // Two uniform errors of 2 % to each side: 1.96 sqrt(2 / 3) 0.02.
  const double half = 1.959964 * std::sqrt(2.0 / 3) * 0.02;
  EXPECT_NEAR(rate.low(), 0.8 * std::exp(-half), 1e-4);
  EXPECT_NEAR(rate.high(), 0.8 * std::exp(half), 1e-4);
  EXPECT_THAT(ToText(comparison), HasSubstr("one search each"));
  EXPECT_THAT(ToJson(comparison), HasSubstr("\"method\": \"precision\""));
  EXPECT_THAT(comparison.left_out, IsEmpty()) << "not its confirmations";
  EXPECT_THAT(WorseThan(comparison, 10),
              ElementsAre(HasSubstr("search, p99 <= 20 ms: B's rate is 20.0 % "
                                    "lower")));
  EXPECT_THAT(WorseThan(comparison, 20), IsEmpty());
}

TEST(FoundRateTest, WhatLiesWithinThePrecisionIsNoDifference) {
  const Comparison comparison = CompareRuns({Search(2000)}, {Search(1950)});
  EXPECT_EQ(comparison.loads[0].metrics[0].verdict, Verdict::kSame);
  EXPECT_THAT(WorseThan(comparison, 0), IsEmpty());
}

TEST(FoundRateTest, OlderFilesHaveThePrecisionOfTheirFlag) {
  RunResult old = Search(2000);
  old.search->precision = 0;
  old.environment.flags["precision"] = "0.1";
  RunResult slower = old;
  slower.search->found_rate = 1800;
  slower.points = {Confirmation(1800)};
  EXPECT_EQ(CompareRuns({old}, {slower}).loads[0].metrics[0].verdict,
            Verdict::kSame);
}

TEST(FoundRateTest, RepeatsAreComparedByHowTheyVary) {
  const Comparison comparison = CompareRuns(
      {Search(2000, 20, "1"), Search(2040, 20, "3"), Search(1960, 20, "5")},
      {Search(1500, 20, "2"), Search(1540, 20, "4"), Search(1480, 20, "6")});
  ASSERT_EQ(comparison.loads.size(), 1U);
  EXPECT_EQ(comparison.loads[0].method, Method::kPairs);
  EXPECT_EQ(comparison.loads[0].metrics[0].verdict, Verdict::kDiffers);
  EXPECT_NEAR(comparison.loads[0].metrics[0].a, 2000, 5);
}

TEST(FoundRateTest, OtherBoundsDoNotCompare) {
  const Comparison comparison =
      CompareRuns({Search(2000, 20)}, {Search(2000.5, 50)});
  EXPECT_THAT(comparison.loads, IsEmpty());
  EXPECT_THAT(comparison.left_out,
              ElementsAre("search, p99 <= 20 ms: searched only in A",
                          "search, p99 <= 50 ms: searched only in B"));
  EXPECT_THAT(WorseThan(comparison, 50), Contains(HasSubstr("not judged")));
}

TEST(FoundRateTest, AGateDoesNotPassWhereNoRateWasFound) {
  RunResult none = Search(std::nullopt);
  none.search->client_ceiling = 5000;
  const Comparison comparison = CompareRuns({Search(2000)}, {none});
  EXPECT_THAT(comparison.loads, IsEmpty());
  EXPECT_THAT(WorseThan(comparison, 50),
              Contains("not judged: search, p99 <= 20 ms: no rate was found "
                       "(the client could not send 5000/s on time) in B"));
}

TEST(FoundRateTest, ARateThatTheClientMayLimitIsNoted) {
  RunResult limited = Search(2000);
  limited.search->client_ceiling = 2100;
  EXPECT_THAT(CompareRuns({Search(1500)}, {limited}).notes,
              Contains(HasSubstr("the client of B could not send 2100/s")));
}

TEST(FoundRateTest, RatesThatBothSearchesConfirmedAreALoad) {
  EXPECT_THAT(LoadsOf(CompareRuns({Search(2000)}, {Search(2000)})),
              ElementsAre("open, 2000/s", "search, p99 <= 20 ms"));
}

// A race says of most settings only that they carry less than the best.
TEST(FoundRateTest, OfTunesTheBestSettingIsJudged) {
  const Comparison comparison =
      CompareRuns({Tuned("eager", 2000), Tuned("window", std::nullopt)},
                  {Tuned("eager", std::nullopt), Tuned("window", 2600)});
  ASSERT_THAT(LoadsOf(comparison),
              ElementsAre("tune, p99 <= 20 ms, best setting"));
  EXPECT_DOUBLE_EQ(comparison.loads[0].metrics[0].a, 2000);
  EXPECT_DOUBLE_EQ(comparison.loads[0].metrics[0].b, 2600);
  EXPECT_THAT(comparison.left_out, ::testing::SizeIs(2));
  EXPECT_THAT(WorseThan(comparison, 5), IsEmpty());
}

}  // namespace
}  // namespace ferry::bench
