// Tests what is particular to each kind of independent gaps;
// arrival_shape_test.cc tests the moments of all.
#include "bench/arrivals/renewal_arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/bench/arrivals/arrival_statistics.h"

namespace ferry::bench {
namespace {

constexpr int kGaps = 200000;

// Over four standard errors of a share of kGaps.
constexpr double kShareTolerance = 0.005;

TEST(PoissonArrivalsTest, MeanGapIsOneOverRate) {
  for (const double rate : {3.0, 1000.0, 250000.0}) {
    PoissonArrivals arrivals(rate, 7);
    // The mean of n exponentials has a standard error of mean / sqrt(n).
    EXPECT_NEAR(Mean(DrawGapsNs(arrivals, kGaps)) * rate / 1e9, 1,
                5 / std::sqrt(kGaps))
        << rate;
  }
}

TEST(PoissonArrivalsTest, GapsAreExponential) {
  PoissonArrivals arrivals(1000, 11);
  std::vector<int> beyond(4);
  for (const int64_t gap_ns : DrawGapsNs(arrivals, kGaps)) {
    for (size_t k = 1; k < beyond.size(); ++k) {
      beyond[k] += static_cast<double>(gap_ns) / 1e6 > static_cast<double>(k);
    }
  }
  for (size_t k = 1; k < beyond.size(); ++k) {
    EXPECT_NEAR(beyond[k] / double{kGaps}, std::exp(-static_cast<double>(k)),
                kShareTolerance)
        << "share of gaps over " << k << " means";
  }
}

TEST(PoissonArrivalsTest, FirstGapsOfASeedNeverChange) {
  // Results of different machines compare only while this holds.
  PoissonArrivals arrivals(1000, 1);
  EXPECT_EQ(arrivals.NextGap().count(), 2010836);
  EXPECT_EQ(arrivals.NextGap().count(), 1992112);
}

TEST(GammaArrivalsTest, CvOfOneIsPoisson) {
  GammaArrivals arrivals(1000, 1, 12);
  int beyond = 0;
  for (const int64_t gap_ns : DrawGapsNs(arrivals, kGaps)) {
    beyond += gap_ns > 1'000'000 ? 1 : 0;
  }
  EXPECT_NEAR(beyond / double{kGaps}, std::exp(-1.0), kShareTolerance);
}

TEST(ConstantArrivalsTest, GapsAreEqualAndTheRateHolds) {
  ConstantArrivals arrivals(3);
  int64_t sum_ns = 0;
  for (const int64_t gap_ns : DrawGapsNs(arrivals, 3000)) {
    EXPECT_NEAR(static_cast<double>(gap_ns), 1e9 / 3, 1);
    sum_ns += gap_ns;
  }
  EXPECT_NEAR(static_cast<double>(sum_ns), 1e12, 2);
}

}  // namespace
}  // namespace ferry::bench
