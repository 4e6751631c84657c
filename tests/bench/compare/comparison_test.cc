// Whole comparisons: what they find, and how often they find what is not there.
#include "bench/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "absl/strings/str_format.h"
#include "bench/compare/comparison_text.h"
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

// Of a hundred comparisons of one run each.
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

TEST(ComparisonTest, OneRunEachShowsTenPercent) {
  const Told told = TellApart({.per_slice = 400, .wave = 0.05},
                              {.mean_ms = 11, .per_slice = 400, .wave = 0.05});
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
  EXPECT_THAT(WorseThan(comparison, 1e6),
              ElementsAre(HasSubstr("void: the client was late in B"),
                          HasSubstr("no load in common")));
}

// Of several pairs one may be void: the others say enough.
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

}  // namespace
}  // namespace ferry::bench
