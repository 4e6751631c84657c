// Poisson arrivals: the right mean and spread, and the same for a seed.
#include "bench/arrival_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ferry::bench {
namespace {

constexpr int kGaps = 200000;

std::vector<double> GapsInSeconds(double rate, uint64_t seed) {
  PoissonArrivals arrivals(rate, seed);
  std::vector<double> gaps;
  for (int i = 0; i < kGaps; ++i) {
    gaps.push_back(std::chrono::duration<double>(arrivals.NextGap()).count());
  }
  return gaps;
}

TEST(PoissonArrivalsTest, MeanGapIsOneOverRate) {
  for (const double rate : {3.0, 1000.0, 250000.0}) {
    double sum = 0;
    for (const double gap : GapsInSeconds(rate, 7)) {
      sum += gap;
    }
    // The mean of n exponentials has a standard error of mean / sqrt(n).
    EXPECT_NEAR(sum / kGaps * rate, 1, 5 / std::sqrt(kGaps)) << rate;
  }
}

TEST(PoissonArrivalsTest, GapsAreExponential) {
  const double rate = 1000;
  std::vector<int> beyond(4);
  for (const double gap : GapsInSeconds(rate, 11)) {
    for (size_t k = 1; k < beyond.size(); ++k) {
      beyond[k] += gap * rate > static_cast<double>(k) ? 1 : 0;
    }
  }
  for (size_t k = 1; k < beyond.size(); ++k) {
    EXPECT_NEAR(beyond[k] / double{kGaps}, std::exp(-static_cast<double>(k)),
                0.005)
        << "share of gaps over " << k << " means";
  }
}

TEST(PoissonArrivalsTest, SeedDecidesGaps) {
  EXPECT_EQ(GapsInSeconds(1000, 5), GapsInSeconds(1000, 5));
  EXPECT_NE(GapsInSeconds(1000, 5), GapsInSeconds(1000, 6));
}

TEST(PoissonArrivalsTest, FirstGapsOfASeedNeverChange) {
  // Results of different machines compare only while this holds.
  PoissonArrivals arrivals(1000, 1);
  EXPECT_EQ(arrivals.NextGap().count(), 2010836);
  EXPECT_EQ(arrivals.NextGap().count(), 1992112);
}

}  // namespace
}  // namespace ferry::bench
