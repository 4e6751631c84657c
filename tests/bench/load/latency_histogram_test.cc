// Tests the stated error bound at every percentile, and merging.
#include "bench/load/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ferry::bench {
namespace {

std::vector<uint64_t> RandomLatencies(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> latency_ns(14, 2.5);
  std::vector<uint64_t> values;
  for (int i = 0; i < 50000; ++i) {
    values.push_back(static_cast<uint64_t>(latency_ns(random)));
  }
  return values;
}

TEST(LatencyHistogramTest, PercentilesAreWithinStatedError) {
  EXPECT_LT(kLatencyRelativeError, 0.01);
  std::vector<uint64_t> values = RandomLatencies(3);
  LatencyHistogram histogram;
  for (const uint64_t value : values) {
    histogram.Record(value);
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto rank =
        static_cast<size_t>(std::ceil(q * static_cast<double>(values.size())));
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(q)), exact,
                exact * kLatencyRelativeError + 1)
        << "quantile " << q;
  }
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(LatencyHistogramTest, MergedIsAsIfRecordedInOne) {
  LatencyHistogram one;
  LatencyHistogram parts[2];
  for (const uint64_t seed : {1, 2}) {
    for (const uint64_t value : RandomLatencies(seed)) {
      one.Record(value);
      parts[seed - 1].Record(value);
    }
  }
  parts[0].Merge(parts[1]);
  EXPECT_EQ(parts[0].count(), one.count());
  EXPECT_EQ(parts[0].max(), one.max());
  EXPECT_EQ(parts[0].sum(), one.sum());
  for (const double q : {0.1, 0.5, 0.99, 0.999}) {
    EXPECT_EQ(parts[0].Quantile(q), one.Quantile(q));
  }
}

TEST(LatencyHistogramTest, NegativeLatencyCountsAsZero) {
  LatencyHistogram histogram;
  RecordLatency(histogram, Duration(-5));
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.max(), 0U);
}

}  // namespace
}  // namespace ferry::bench
