// Tests how counts vary, and that a run begins as it goes on.
#include "bench/arrivals/on_off_arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/bench/arrivals/arrival_statistics.h"

namespace ferry::bench {
namespace {

constexpr double kRate = 1000;

OnOff Example(double off_share) {
  return {.mean_on = Milliseconds(2),
          .mean_off = Milliseconds(8),
          .off_share = off_share};
}

// The variance of counts is their mean, as of any Poisson process, and that of
// the rate's integral, whose autocovariance falls as exp(-t / memory):
// 1 + 2 * variance(rate) * memory / rate * (1 - (1 - exp(-x)) / x) with
// x = window / memory and memory = 1 / (1 / on + 1 / off).
double ExpectedDispersion(double off_share, Duration window) {
  const double on_s = 2e-3;
  const double off_s = 8e-3;
  const double part_on = on_s / (on_s + off_s);
  const double rate_on = kRate / (part_on + (1 - part_on) * off_share);
  const double variance =
      part_on * (1 - part_on) * std::pow(rate_on - rate_on * off_share, 2);
  const double memory_s = 1 / (1 / on_s + 1 / off_s);
  const double x = static_cast<double>(window.count()) / 1e9 / memory_s;
  return 1 + 2 * variance * memory_s / kRate * (1 - (1 - std::exp(-x)) / x);
}

TEST(OnOffArrivalsTest, CountsAreAsDispersedAsTheStatesMakeThem) {
  for (const double off_share : {0.0, 0.1, 1.0}) {
    OnOffArrivals arrivals(kRate, Example(off_share), 31);
    const std::vector<int64_t> gaps_ns = DrawGapsNs(arrivals, 400000);
    for (const double window_ms : {1.0, 10.0, 100.0}) {
      const Duration window = Milliseconds(window_ms);
      const double expected = ExpectedDispersion(off_share, window);
      EXPECT_NEAR(IndexOfDispersion(gaps_ns, window) / expected, 1, 0.1)
          << off_share << " while off, " << window_ms << " ms";
    }
  }
}

TEST(OnOffArrivalsTest, FirstMillisecondHasTheMeanRate) {
  constexpr int kRuns = 20000;
  const Duration window = Milliseconds(1);
  int count = 0;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    OnOffArrivals arrivals(kRate, Example(0), seed);
    for (Duration at = arrivals.NextGap(); at < window;
         at += arrivals.NextGap()) {
      ++count;
    }
  }
  EXPECT_NEAR(count / double{kRuns}, 1,
              5 * std::sqrt(ExpectedDispersion(0, window) / kRuns));
}

}  // namespace
}  // namespace ferry::bench
