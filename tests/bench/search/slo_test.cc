// Tests which loads meet a bound, and what each half of it refuses.
#include "bench/search/slo.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace ferry::bench {
namespace {

constexpr double kConfidence = 0.999;

SloCounts Counts(uint64_t planned, uint64_t missed, uint64_t failed) {
  return {.planned = planned, .missed = missed, .failed = failed};
}

TEST(SloTest, WhatFailsHasMissedAndWhatIsLateHasNotFailed) {
  LoadResult load;
  load.planned = 10;
  for (int i = 0; i < 8; ++i) {
    load.latency.Record(i < 6 ? 1'000'000 : 60'000'000);
    ++load.ended[static_cast<size_t>(absl::StatusCode::kOk)];
  }
  const SloCounts counts = CountAgainst(load, {});
  EXPECT_EQ(counts.planned, 10U);
  EXPECT_EQ(counts.missed, 4U) << "two late, two failed";
  EXPECT_EQ(counts.failed, 2U);
}

TEST(SloTest, QuantileAloneTakesAsManyFailures) {
  const Slo slo = {.quantile = 0.99};
  EXPECT_TRUE(Keeps(Counts(10'000, 100, 100), slo));
  EXPECT_FALSE(Keeps(Counts(10'000, 101, 0), slo));
  EXPECT_EQ(TestSlo(Counts(10'000, 10, 10), slo, kConfidence),
            ShareVerdict::kMet);
  EXPECT_EQ(TestSlo(Counts(10'000, 100, 0), slo, kConfidence),
            ShareVerdict::kUndecided);
  EXPECT_EQ(TestSlo(Counts(10'000, 300, 0), slo, kConfidence),
            ShareVerdict::kMissed);
}

TEST(SloTest, SuccessIsAskedForBesideIt) {
  const Slo slo = {.quantile = 0.95, .success = 0.999};
  EXPECT_TRUE(Keeps(Counts(10'000, 500, 10), slo));
  EXPECT_FALSE(Keeps(Counts(10'000, 11, 11), slo));
  EXPECT_FALSE(Keeps(Counts(10'000, 501, 0), slo));
  EXPECT_EQ(TestSlo(Counts(10'000, 50, 50), slo, kConfidence),
            ShareVerdict::kMissed)
      << "the latency is met";
  EXPECT_EQ(TestSlo(Counts(10'000, 50, 9), slo, kConfidence),
            ShareVerdict::kUndecided)
      << "the success may be";
  EXPECT_EQ(TestSlo(Counts(100'000, 500, 20), slo, kConfidence),
            ShareVerdict::kMet);
  EXPECT_EQ(TestSlo(Counts(100'000, 9000, 20), slo, kConfidence),
            ShareVerdict::kMissed);
}

TEST(SloTest, AllMustSucceedWhereAllAreAskedFor) {
  const Slo slo = {.quantile = 0.99, .success = 1};
  EXPECT_TRUE(Keeps(Counts(10'000, 100, 0), slo));
  EXPECT_FALSE(Keeps(Counts(10'000, 1, 1), slo));
  EXPECT_EQ(TestSlo(Counts(10'000, 1, 1), slo, kConfidence),
            ShareVerdict::kMissed);
  EXPECT_EQ(TestSlo(Counts(1'000'000, 0, 0), slo, kConfidence),
            ShareVerdict::kUndecided)
      << "the next one may fail";
}

TEST(SloTest, CountsOfSeveralLoadsAdd) {
  SloCounts counts = Counts(10, 2, 1);
  counts += Counts(5, 1, 1);
  EXPECT_EQ(counts.planned, 15U);
  EXPECT_EQ(counts.missed, 3U);
  EXPECT_EQ(counts.failed, 2U);
}

}  // namespace
}  // namespace ferry::bench
