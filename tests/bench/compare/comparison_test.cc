// Tests whole comparisons: what they find, and how often they find what is not
// there.
#include "bench/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_format.h"
#include "bench/compare/comparison_text.h"
#include "bench/report/goodput.h"
#include "tests/bench/compare/compared_results.h"

namespace ferry::bench {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Metric& Named(const Comparison& comparison, const std::string& name) {
  for (const Metric& metric : comparison.loads.front().metrics) {
    if (metric.name == name) {
      return metric;
    }
  }
  ADD_FAILURE() << name;
  return comparison.loads.front().metrics.front();
}

// Runs in turn, as `run --repeat --against` makes them.
std::vector<RunResult> Repeats(std::mt19937_64& random, const char* label,
                               int count, const DrawnRun& drawn) {
  std::vector<RunResult> runs;
  for (int k = 0; k < count; ++k) {
    runs.push_back(RunOf(label, DrawPoint(random, drawn),
                         absl::StrFormat("2026-01-01T00:%02d:00Z", k)));
  }
  return runs;
}

struct Told {
  int p50 = 0;
  int p99 = 0;
  int rate = 0;
  int any = 0;  // verdicts, among all metrics
};

// Makes a hundred comparisons of one run each.
Told TellApart(const DrawnRun& a, const DrawnRun& b) {
  std::mt19937_64 random(1);
  Told told;
  for (int trial = 0; trial < 100; ++trial) {
    const Comparison comparison = CompareRuns(
        {RunOf("a", DrawPoint(random, a))}, {RunOf("b", DrawPoint(random, b))});
    const auto is_told = [&](const char* name) {
      const auto& estimate = Named(comparison, name).estimate;
      return estimate.has_value() && estimate->p_value < kChance ? 1 : 0;
    };
    told.p50 += is_told("p50");
    told.p99 += is_told("p99");
    told.rate += is_told("rate");
    for (const Metric& metric : comparison.loads.front().metrics) {
      if (metric.verdict == Verdict::kDiffers) {
        ++told.any;
        break;
      }
    }
  }
  return told;
}

TEST(ComparisonTest, TheSameIsTakenForDifferentInFewOfAHundredRuns) {
  const DrawnRun same = {.per_slice = 400, .wave = 0.05};
  const Told told = TellApart(same, same);
  for (const int metric : {told.p50, told.p99, told.rate, told.any}) {
    EXPECT_LE(metric, 12);  // 5 are to be expected
  }
  EXPECT_GE(told.p50 + told.p99 + told.rate, 3);
}

TEST(ComparisonTest, SlicesThatAreAlikeDoNotCountAsSoMany) {
  const DrawnRun slow_waves = {.per_slice = 100, .wave = 0.1, .alike = 0.5};
  const Told told = TellApart(slow_waves, slow_waves);
  EXPECT_LE(told.p50, 14);  // as if independent, more than 20
  EXPECT_LE(told.rate, 14);
}

TEST(ComparisonTest, OneRunEachShowsFifteenPercent) {
  const Told told =
      TellApart({.per_slice = 400, .wave = 0.05},
                {.mean_ms = 11.5, .per_slice = 400, .wave = 0.05});
  EXPECT_GE(told.p50, 90);
}

TEST(ComparisonTest, OneRunEachSaysWhatItCannotSee) {
  std::mt19937_64 random(1);
  const Comparison comparison = CompareRuns(
      {RunOf("a", DrawPoint(random, {}))}, {RunOf("b", DrawPoint(random, {}))});
  EXPECT_EQ(comparison.loads.front().method, Method::kSlices);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("--repeat")));
  EXPECT_THAT(ToText(comparison), HasSubstr("one run each, by slices"));
  EXPECT_EQ(Named(comparison, "rows").verdict, Verdict::kUnknown);
  EXPECT_EQ(Named(comparison, "errors").verdict, Verdict::kSame);
}

TEST(ComparisonTest, WhatHasNoIntervalIsToldWithoutOne) {
  std::mt19937_64 random(1);
  PointResult slow = DrawPoint(random, {});
  PointResult fast = slow;
  for (PointResult* const point : {&slow, &fast}) {
    point->series.clear();
    point->mean_interval.reset();
    point->p50_interval.reset();
    point->p99_interval.reset();
  }
  slow.achieved_rate = 205;
  fast.achieved_rate = 5425;
  fast.latency.p50_us = slow.latency.p50_us / 4;
  const Comparison comparison =
      CompareRuns({RunOf("a", slow)}, {RunOf("b", fast)});
  EXPECT_EQ(VerdictText(Named(comparison, "rate")),
            "B's rate is 26 times A's (interval unknown)");
  EXPECT_EQ(VerdictText(Named(comparison, "p50")),
            "B's p50 is 75.0 % lower (interval unknown)");
  EXPECT_EQ(VerdictText(Named(comparison, "p99")),
            "A and B are the same (interval unknown)");
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("interval unknown: ")));
  EXPECT_THAT(ToText(comparison), Not(HasSubstr("not known")));
  EXPECT_THAT(ToJson(comparison), HasSubstr("\"verdict\": \"unknown\""));
  EXPECT_THAT(WorseThan(comparison, 5),
              Contains(HasSubstr("not judged: closed, 4 outstanding: rate")));
}

TEST(ComparisonTest, DifferenceOfManyTimesIsToldInTimes) {
  std::mt19937_64 random(3);
  const Comparison comparison =
      CompareRuns(Repeats(random, "a", 5, {.mean_ms = 2}),
                  Repeats(random, "b", 5, {.mean_ms = 20}));
  EXPECT_THAT(VerdictText(Named(comparison, "p50")),
              ::testing::MatchesRegex("B's p50 is [0-9.]+ times A's "
                                      "\\([0-9.]+ to [0-9.]+\\)"));
}

TEST(ComparisonTest, PairsFindADifferenceAndSayItInWords) {
  std::mt19937_64 random(3);
  const Comparison comparison =
      CompareRuns(Repeats(random, "a", 5, {.mean_ms = 10}),
                  Repeats(random, "b", 5, {.mean_ms = 8}));
  ASSERT_EQ(comparison.loads.size(), 1U);
  EXPECT_EQ(comparison.loads.front().method, Method::kPairs);
  const Metric& p50 = Named(comparison, "p50");
  EXPECT_EQ(p50.verdict, Verdict::kDiffers);
  EXPECT_LT(p50.low(), 0.8);
  EXPECT_GT(p50.high(), 0.8);
  EXPECT_THAT(
      VerdictText(p50),
      ::testing::MatchesRegex("B's p50 is (19|20)\\.[0-9] % lower "
                              "\\(1[0-9]\\.[0-9] to 2[0-9]\\.[0-9] %\\)"));
  EXPECT_THAT(comparison.notes, Not(Contains(HasSubstr("one run each"))));
  EXPECT_THAT(WorseThan(comparison, 5), IsEmpty());
}

// The runs with their goodput.
std::vector<RunResult> Within(double slo_ms, std::vector<RunResult> runs) {
  for (RunResult& run : runs) {
    SetGoodput(slo_ms, run);
  }
  return runs;
}

bool HasMetric(const Comparison& comparison, const std::string& name) {
  const auto& metrics = comparison.loads.front().metrics;
  return std::any_of(metrics.begin(), metrics.end(),
                     [&](const Metric& one) { return one.name == name; });
}

TEST(ComparisonTest, GoodputIsComparedUnderOneBound) {
  // 86 % of exponential latencies are within twice the mean, 76 % within 1.43.
  std::mt19937_64 random(3);
  const auto a = Repeats(random, "a", 5, {.mean_ms = 10});
  const auto b = Repeats(random, "b", 5, {.mean_ms = 14});
  const Comparison comparison = CompareRuns(Within(20, a), Within(20, b));
  const Metric& goodput = Named(comparison, "goodput");
  EXPECT_EQ(goodput.verdict, Verdict::kDiffers);
  EXPECT_NEAR(goodput.b / goodput.a,
              (1 - std::exp(-20 / 14.0)) / (1 - std::exp(-2)), 0.02);
  EXPECT_THAT(WorseThan(comparison, 5),
              Contains(HasSubstr("closed, 4 outstanding: B's goodput is 1")));
  EXPECT_FALSE(HasMetric(CompareRuns(Within(20, a), b), "goodput"));
  const Comparison differs = CompareRuns(Within(20, a), Within(30, b));
  EXPECT_FALSE(HasMetric(differs, "goodput"));
  EXPECT_THAT(differs.notes,
              Contains(HasSubstr("goodput is not compared: within 20 ms in A, "
                                 "within 30 ms in B")));
}

TEST(ComparisonTest, GoodputOfOneRunEachIsToldAndNotJudged) {
  std::mt19937_64 random(1);
  const Comparison comparison =
      CompareRuns(Within(20, {RunOf("a", DrawPoint(random, {}))}),
                  Within(20, {RunOf("b", DrawPoint(random, {}))}));
  const Metric& goodput = Named(comparison, "goodput");
  EXPECT_EQ(goodput.verdict, Verdict::kUnknown);
  EXPECT_GT(goodput.a, 0);
  EXPECT_GT(goodput.b, 0);
  EXPECT_THAT(WorseThan(comparison, 50), IsEmpty());
}

TEST(ComparisonTest, WorseIsWhatIsWorseByItsWholeInterval) {
  std::mt19937_64 random(3);
  const Comparison comparison =
      CompareRuns(Repeats(random, "a", 5, {.mean_ms = 10}),
                  Repeats(random, "b", 5, {.mean_ms = 12, .failed = 0.05}));
  EXPECT_THAT(WorseThan(comparison, 10),
              Contains(HasSubstr("closed, 4 outstanding: B's p50 is 19.")));
  EXPECT_THAT(WorseThan(comparison, 3),
              Contains(AllOf(HasSubstr("B's errors are "),
                             HasSubstr(" points higher"))));
  EXPECT_THAT(WorseThan(comparison, 30), IsEmpty());
}

TEST(ComparisonTest, AGateDoesNotPassOnWhatDoesNotStand) {
  std::mt19937_64 random(3);
  auto a = Repeats(random, "a", 1, {});
  auto b = Repeats(random, "b", 1, {});
  b.front().points.front().void_reason = "the client was late";
  const Comparison comparison = CompareRuns(a, b);
  EXPECT_THAT(comparison.loads, IsEmpty());
  EXPECT_THAT(MakeTable(comparison).headings, IsEmpty()) << "notes alone";
  EXPECT_THAT(WorseThan(comparison, 1e6),
              ElementsAre(HasSubstr("void: the client was late in B"),
                          HasSubstr("no load in common")));
}

// One of several pairs may be void: the others say enough.
TEST(ComparisonTest, AGateIsJudgedByThePairsThatStand) {
  std::mt19937_64 random(3);
  auto a = Repeats(random, "a", 4, {});
  auto b = Repeats(random, "b", 4, {});
  b.front().points.front().void_reason = "the client was late";
  const Comparison comparison = CompareRuns(a, b);
  EXPECT_EQ(comparison.loads.front().runs_a, 3U);
  EXPECT_THAT(comparison.left_out, ::testing::SizeIs(1));
  EXPECT_THAT(WorseThan(comparison, 20), IsEmpty());
}

// Files of before there were slices have no intervals either.
TEST(ComparisonTest, OldPointsHaveNoIntervalAndNoVerdict) {
  std::mt19937_64 random(3);
  PointResult old = DrawPoint(random, {});
  old.series.clear();
  old.mean_interval = old.p50_interval = old.p99_interval = std::nullopt;
  const Comparison comparison =
      CompareRuns({RunOf("a", old)}, {RunOf("b", old)});
  EXPECT_EQ(Named(comparison, "p99").verdict, Verdict::kUnknown);
  EXPECT_EQ(comparison.tests, 0U);
  EXPECT_THAT(WorseThan(comparison, 5), Not(IsEmpty()));
}

// Runs in turn whose points are changed by `change`.
template <typename Change>
std::vector<RunResult> Changed(const char* label, int count, Change change) {
  std::mt19937_64 random(3);
  auto runs = Repeats(random, label, count, {.per_slice = 100});
  for (RunResult& run : runs) {
    change(run.points.front());
  }
  return runs;
}

void FailAll(PointResult& point) {
  point.errors = {{"UNAVAILABLE", point.planned}};
  point.ok = 0;
  point.achieved_rate = 0;
  point.latency = {};
}

TEST(ComparisonTest, AGateDoesNotPassWhereOneRunHasNoSuccess) {
  std::mt19937_64 random(3);
  auto b = Repeats(random, "b", 7, {.mean_ms = 30});
  FailAll(b[3].points.front());
  const Comparison comparison =
      CompareRuns(Repeats(random, "a", 7, {.mean_ms = 10}), b);
  const Metric& p50 = Named(comparison, "p50");
  EXPECT_FALSE(p50.estimate.has_value());
  EXPECT_EQ(p50.verdict, Verdict::kUnknown);
  EXPECT_NEAR(p50.b / p50.a, 3, 0.3);  // of those that have one
  for (const char* metric : {"rate", "mean", "p50", "p99"}) {
    EXPECT_THAT(WorseThan(comparison, 5),
                Contains(absl::StrFormat("not judged: closed, 4 outstanding: "
                                         "%s: not known: 1 run has no value of "
                                         "it",
                                         metric)));
  }
}

TEST(ComparisonTest, ASideWithoutAnySuccessIsListedAndNotJudged) {
  const auto a = Changed("a", 3, [](PointResult& /*point*/) {});
  const auto b = Changed("b", 3, FailAll);
  const Comparison comparison = CompareRuns(a, b);
  EXPECT_TRUE(std::isnan(Named(comparison, "p50").b));
  EXPECT_THAT(
      WorseThan(comparison, 5),
      Contains(HasSubstr("p50: not known: 3 runs have no value of it")));
  EXPECT_THAT(ToText(comparison), Not(HasSubstr("nan")));
  EXPECT_THAT(ToJson(CompareRuns(b, a)), HasSubstr("\"a\": null"));
  // What neither has is no metric.
  const Comparison of_none = CompareRuns(b, b);
  ASSERT_FALSE(of_none.loads.empty());
  for (const Metric& metric : of_none.loads.front().metrics) {
    EXPECT_THAT(metric.name, ::testing::AnyOf("errors", "rows"));
  }
}

TEST(ComparisonTest, QueriesAreComparedByTheirRowsAndNotByLatencies) {
  double rows_rate = 1000;
  const auto offline = [&](PointResult& point) {
    point.loop = "offline";
    point.query_rows = 100000;
    point.rows_rate = rows_rate *= 1.001;
  };
  const auto a = Changed("a", 5, offline);
  rows_rate = 2000;
  const Comparison comparison = CompareRuns(a, Changed("b", 5, offline));
  std::vector<std::string> names;
  for (const Metric& metric : comparison.loads.front().metrics) {
    names.push_back(metric.name);
  }
  EXPECT_THAT(names, ElementsAre("rate", "errors", "rows"));
  EXPECT_EQ(Named(comparison, "rate").verdict, Verdict::kDiffers);
  EXPECT_THAT(ToText(comparison),
              AllOf(HasSubstr("offline, 100000 rows, 4 outstanding"),
                    HasSubstr("1003.0 rows/s"), HasSubstr("2006.0 rows/s"),
                    HasSubstr("B's rate is 100.0 % higher")));
}

// 2400.4 us is in the bucket next to that of 2384 us.
TEST(ComparisonTest, PercentilesThatDoNotVaryAreAsSureAsTheirBuckets) {
  const auto p50_of = [](double us) {
    return [us](PointResult& point) { point.latency.p50_us = us; };
  };
  const auto a = Changed("a", 3, p50_of(2384));
  Comparison comparison = CompareRuns(a, Changed("b", 3, p50_of(2400.4)));
  const Metric& next = Named(comparison, "p50");
  EXPECT_EQ(next.verdict, Verdict::kSame);
  // Two errors of 1/256, uniform.
  EXPECT_NEAR(next.estimate->error, std::sqrt(2.0 / 3) / 256, 1e-9);
  EXPECT_LT(next.low(), 1);
  comparison = CompareRuns(a, Changed("b", 3, p50_of(2600)));
  EXPECT_EQ(Named(comparison, "p50").verdict, Verdict::kDiffers);
}

TEST(ComparisonTest, RatesThatDoNotVaryAreAsSureAsTheyAreCounted) {
  const auto rate_of = [](double rate) {
    return [rate](PointResult& point) {
      point.achieved_rate = rate;
      point.ok = static_cast<uint64_t>(10 * rate);
    };
  };
  const auto a = Changed("a", 3, rate_of(500));
  Comparison comparison = CompareRuns(a, Changed("b", 3, rate_of(499.9)));
  EXPECT_EQ(Named(comparison, "rate").verdict, Verdict::kSame);
  comparison = CompareRuns(a, Changed("b", 3, rate_of(490)));
  EXPECT_EQ(Named(comparison, "rate").verdict, Verdict::kDiffers);
}

TEST(ComparisonTest, SharesOfErrorsVaryAsCountsDoAtLeast) {
  const auto failed = [](uint64_t count) {
    return [count](PointResult& point) {
      point.planned = 12000;
      point.errors = {{"UNAVAILABLE", count}};
    };
  };
  const auto a = Changed("a", 3, failed(0));
  Comparison comparison = CompareRuns(a, Changed("b", 3, failed(3)));
  const Metric& few = Named(comparison, "errors");
  EXPECT_EQ(few.verdict, Verdict::kSame);
  EXPECT_NEAR(few.estimate->error, std::sqrt(1.25e-4 * 0.999875 * 2 / 36000),
              1e-9);
  comparison = CompareRuns(a, Changed("b", 3, failed(300)));
  EXPECT_EQ(Named(comparison, "errors").verdict, Verdict::kDiffers);
}

// One of ten comparisons that are all by chance.
TEST(ComparisonTest, OneOfManyThatAloneWouldStandIsByChance) {
  std::mt19937_64 random(1);
  int by_chance = 0, differs = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const Comparison comparison =
        CompareRuns(Repeats(random, "a", 4, {.per_slice = 40}),
                    Repeats(random, "b", 4, {.per_slice = 40}));
    for (const Metric& metric : comparison.loads.front().metrics) {
      by_chance += metric.verdict == Verdict::kByChance ? 1 : 0;
      differs += metric.verdict == Verdict::kDiffers ? 1 : 0;
    }
  }
  EXPECT_GT(by_chance, differs);
  EXPECT_LE(differs, 12);
}

TEST(ComparisonTest, JsonHasWhatTheTableHas) {
  std::mt19937_64 random(3);
  const std::string json =
      ToJson(CompareRuns(Repeats(random, "a", 5, {.mean_ms = 10}),
                         Repeats(random, "b", 5, {.mean_ms = 8})));
  EXPECT_THAT(json, AllOf(HasSubstr("\"ferry-bench-compare/1\""),
                          HasSubstr("\"method\": \"pairs\""),
                          HasSubstr("\"verdict\": \"differs\""),
                          HasSubstr("B's p50 is ")));
}

TEST(ComparisonTest, SaysWhatIsUnsteady) {
  std::mt19937_64 random(1);
  const RunResult a = RunOf("a", DrawPoint(random, {}));
  RunResult b = RunOf("b", DrawPoint(random, {}));
  EXPECT_THAT(CompareRuns({a}, {b}).unsteady, IsEmpty());
  EXPECT_THAT(CompareRuns({a}, {b}).notes,
              Not(Contains(HasSubstr("unsteady"))));
  b.points[0].unsteady = "the rate went down";
  const Comparison comparison = CompareRuns({a}, {b});
  const std::string said =
      "closed, 4 outstanding: unsteady in B: the rate went down";
  EXPECT_THAT(comparison.unsteady, ElementsAre(said));
  EXPECT_THAT(comparison.notes,
              Contains(HasSubstr("the latencies of its window's length")));
  EXPECT_THAT(ToText(comparison), HasSubstr("WARNING: " + said));
}

TEST(ComparisonTest, WithoutALoadInCommonThereAreReasonsAndNoTable) {
  std::mt19937_64 random(9);
  const RunResult a = RunOf("a", DrawPoint(random, {}));
  RunResult b = RunOf("b", DrawPoint(random, {}));
  b.points[0].outstanding = 5;
  const std::string text = ToText(CompareRuns({a}, {b}));
  EXPECT_THAT(text, HasSubstr("not compared: closed, 4 outstanding: "));
  EXPECT_THAT(text, HasSubstr("not compared: closed, 5 outstanding: "));
  EXPECT_THAT(text, Not(HasSubstr("verdict"))) << "a heading";
  EXPECT_THAT(text, Not(HasSubstr("in common")));
}

}  // namespace
}  // namespace ferry::bench
