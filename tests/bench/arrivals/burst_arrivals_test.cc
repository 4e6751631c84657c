// Tests the sizes of bursts and the gaps between them.
#include "bench/arrivals/burst_arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/bench/arrivals/arrival_statistics.h"

namespace ferry::bench {
namespace {

constexpr int kGaps = 400000;

TEST(BurstArrivalsTest, SizesAreGeometricAndGapsBetweenBurstsExponential) {
  BurstArrivals arrivals(1000, 8, 21);
  std::vector<int64_t> sizes;
  std::vector<int64_t> between_ns;
  for (const int64_t gap_ns : DrawGapsNs(arrivals, kGaps)) {
    if (gap_ns > 0) {
      sizes.push_back(0);
      between_ns.push_back(gap_ns);
    }
    ASSERT_FALSE(sizes.empty()) << "the first burst comes after a gap";
    ++sizes.back();
  }
  sizes.pop_back();  // cut short
  // Geometric: variance is mean * (mean - 1).
  const double error = 5 / std::sqrt(static_cast<double>(sizes.size()));
  EXPECT_NEAR(Mean(sizes), 8, error * std::sqrt(56));
  EXPECT_NEAR(Variance(sizes), 56, 56 * 3 * error);
  EXPECT_NEAR(Mean(between_ns) / 8e6, 1, error);
  EXPECT_NEAR(SquaredCv(between_ns), 1, 3 * error);
}

// Bursts are independent, so that counts of any window have the index of
// dispersion E[size^2] / E[size] = 2 * mean - 1.
TEST(BurstArrivalsTest, CountsAreAsDispersedAsBurstsMakeThem) {
  BurstArrivals arrivals(1000, 8, 22);
  const std::vector<int64_t> gaps_ns = DrawGapsNs(arrivals, kGaps);
  for (const double window_ms : {5.0, 50.0}) {
    EXPECT_NEAR(IndexOfDispersion(gaps_ns, Milliseconds(window_ms)), 15, 1.5)
        << window_ms;
  }
}

}  // namespace
}  // namespace ferry::bench
