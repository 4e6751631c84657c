// WaitStretch: what the door adds to the wait it forecasts.
#include "batcher/wait_stretch.h"

#include <gtest/gtest.h>

#include <random>

namespace ferry {
namespace {

TimePoint At(double ms) { return TimePoint() + Milliseconds(ms); }

TEST(WaitStretch, GrowsWithWhoMissedAndShrinksWithWhoWasInTime) {
  WaitStretch stretch;
  EXPECT_EQ(stretch.Settle(), 0);
  stretch.CountMissed();
  EXPECT_DOUBLE_EQ(stretch.Settle(), WaitStretch::kGrowth);
  stretch.CountAnswered(At(0), At(10), At(11));  // late
  const double grown = stretch.Settle();
  EXPECT_DOUBLE_EQ(grown, 2 * WaitStretch::kGrowth);
  stretch.CountAnswered(At(0), At(10), At(9));
  const double shrunk = stretch.Settle();
  EXPECT_LT(shrunk, grown);
  EXPECT_GT(shrunk, grown - WaitStretch::kGrowth);
}

TEST(WaitStretch, WhoHadMuchTimeLeftSaysNothing) {
  WaitStretch stretch;
  stretch.CountMissed();
  const double before = stretch.Settle();
  stretch.CountAnswered(At(0), At(10), At(5));
  EXPECT_EQ(stretch.Settle(), before);
  EXPECT_EQ(stretch.Settle(), before) << "counts are taken once";
}

TEST(WaitStretch, OneBadMomentMovesItByABoundedStep) {
  WaitStretch stretch;
  for (int i = 0; i < 1000; ++i) {
    stretch.CountMissed();
  }
  EXPECT_DOUBLE_EQ(stretch.Settle(), WaitStretch::kMaxGrowth);
}

TEST(WaitStretch, StaysWithinItsBounds) {
  WaitStretch stretch;
  for (int i = 0; i < 1000; ++i) {
    for (int j = 0; j < 10; ++j) {
      stretch.CountMissed();
    }
    EXPECT_LE(stretch.Settle(), WaitStretch::kMax);
  }
  EXPECT_EQ(stretch.Settle(), WaitStretch::kMax);
  for (int i = 0; i < 1'000'000; ++i) {
    stretch.CountAnswered(At(0), At(10), At(9));
  }
  EXPECT_EQ(stretch.Settle(), 0);
}

// The queue takes a normally distributed time, of mean 1.1 and deviation 0.05
// of the forecast; the door admits what is then just in time.
TEST(WaitStretch, SettlesWhereTheStatedShareMisses) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> taken(1.1, 0.05);
  WaitStretch stretch;
  double value = 0;
  int missed = 0;
  const int warm_up = 100'000;
  const int counted = 400'000;
  for (int i = 0; i < warm_up + counted; ++i) {
    const double ms = 100 * taken(random) / (1 + value);
    stretch.CountAnswered(At(0), At(100), At(ms));
    missed += i >= warm_up && ms > 100 ? 1 : 0;
    value = stretch.Settle();
  }
  EXPECT_NEAR(value, 1.1 + 2.8 * 0.05 - 1, 0.03) << "the quantile";
  EXPECT_NEAR(missed / static_cast<double>(counted), WaitStretch::kMissed,
              0.0005);
}

}  // namespace
}  // namespace ferry
