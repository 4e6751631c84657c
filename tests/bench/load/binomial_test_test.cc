// Tests tails of the binomial, and what they decide.
#include "bench/load/binomial_test.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ferry::bench {
namespace {

TEST(BinomialTest, SmallOnesAreExact) {
  // Four tosses of a coin: 1, 5, 11, 15, 16 of 16.
  const double expected[] = {1, 5, 11, 15, 16};
  for (uint64_t k = 0; k <= 4; ++k) {
    EXPECT_NEAR(BinomialCdf(k, 4, 0.5), expected[k] / 16, 1e-12);
  }
  EXPECT_NEAR(BinomialCdf(0, 459, 0.01), std::pow(0.99, 459), 1e-12);
}

// By the central limit: 10,000 of a million at 1 % is the middle.
TEST(BinomialTest, LargeOnesAreNeitherNanNorSlow) {
  EXPECT_NEAR(BinomialCdf(10'000, 1'000'000, 0.01), 0.5, 0.01);
  EXPECT_NEAR(BinomialCdf(10'163, 1'000'000, 0.01), 0.95, 0.002);
  EXPECT_LT(BinomialCdf(8'000, 1'000'000, 0.01), 1e-80);
  EXPECT_NEAR(BinomialCdf(20'000, 1'000'000, 0.01), 1, 1e-12);
}

// MLPerf's rules have 459 as the least for p99 at 99 % of confidence.
TEST(BinomialTest, ShareIsMetAfter459WithoutOneOver) {
  EXPECT_EQ(TestShare(0, 0, 0.01), ShareVerdict::kUndecided);
  EXPECT_EQ(TestShare(0, 458, 0.01), ShareVerdict::kUndecided);
  EXPECT_EQ(TestShare(0, 459, 0.01), ShareVerdict::kMet);
}

TEST(BinomialTest, ShareIsMissedWhereSoManyWouldBeUnlikely) {
  EXPECT_EQ(TestShare(3, 100, 0.01), ShareVerdict::kUndecided);
  EXPECT_EQ(TestShare(5, 100, 0.01), ShareVerdict::kMissed);
  EXPECT_EQ(TestShare(100, 100, 0.01), ShareVerdict::kMissed);
  EXPECT_EQ(TestShare(100, 10'000, 0.01), ShareVerdict::kUndecided)
      << "just what is allowed";
  EXPECT_EQ(TestShare(70, 10'000, 0.01), ShareVerdict::kMet);
  EXPECT_EQ(TestShare(130, 10'000, 0.01), ShareVerdict::kMissed);
}

}  // namespace
}  // namespace ferry::bench
