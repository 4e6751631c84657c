// Tests Histogram's stated error, and its quantiles against sorted values.
#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace ferry {
namespace {

template <int k>
uint64_t MiddleOfBucket(uint64_t value) {
  using H = Histogram<k>;
  const size_t bucket = H::BucketOf(value);
  return H::LowestOf(bucket) +
         (H::LowestOf(bucket + 1) - H::LowestOf(bucket)) / 2;
}

template <int k>
void ExpectErrorBound(uint64_t value) {
  using H = Histogram<k>;
  const size_t bucket = H::BucketOf(value);
  EXPECT_LE(H::LowestOf(bucket), value);
  EXPECT_GT(H::LowestOf(bucket + 1), value);
  const uint64_t middle = MiddleOfBucket<k>(value);
  const uint64_t error = middle > value ? middle - value : value - middle;
  EXPECT_LE(error, value >> (k + 1)) << "value " << value;
}

TEST(Histogram, ErrorIsBoundedAtEveryMagnitude) {
  for (int bits = 0; bits < Histogram<4>::kMaxBits; ++bits) {
    const uint64_t power = uint64_t{1} << bits;
    for (uint64_t value :
         {power - 1, power, power + 1, power + power / 3, 2 * power - 1}) {
      ExpectErrorBound<4>(value);
      ExpectErrorBound<7>(value);
    }
  }
}

TEST(Histogram, BucketsAreContiguousAndInOrder) {
  using H = Histogram<4>;
  EXPECT_EQ(H::LowestOf(0), 0u);
  for (size_t i = 0; i < H::kBucketCount; ++i) {
    ASSERT_LT(H::LowestOf(i), H::LowestOf(i + 1));
    ASSERT_EQ(H::BucketOf(H::LowestOf(i)), i);
    ASSERT_EQ(H::BucketOf(H::LowestOf(i + 1) - 1), i);
  }
  EXPECT_EQ(H::LowestOf(H::kBucketCount), uint64_t{1} << H::kMaxBits);
}

TEST(Histogram, ValuesTooLargeCountInTheLastBucketAndTheMaximumIsExact) {
  Histogram<4> histogram;
  const uint64_t huge = ~uint64_t{0};
  histogram.Record(1);
  histogram.Record(huge - 1);
  histogram.Record(huge);
  EXPECT_EQ(histogram.bucket(Histogram<4>::kBucketCount - 1), 2u);
  EXPECT_EQ(histogram.max(), huge);
  EXPECT_EQ(histogram.Quantile(1), huge);
  EXPECT_EQ(histogram.min(), 1u);
}

TEST(Histogram, EmptyHistogramIsAllZero) {
  const Histogram<4> histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.Quantile(0.99), 0u);
  EXPECT_EQ(histogram.CountAtOrBelow(~uint64_t{0}), 0u);
}

TEST(Histogram, OneValueIsEveryQuantile) {
  Histogram<4> histogram;
  histogram.Record(1'000'003);
  for (double q : {0.0, 0.5, 0.99, 1.0}) {
    EXPECT_EQ(histogram.Quantile(q), 1'000'003u) << q;
  }
}

// Values spread over many magnitudes.
std::vector<uint64_t> SomeValues(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(0, 40);
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) {
    value = static_cast<uint64_t>(std::exp2(exponent(random)));
  }
  return values;
}

TEST(Histogram, QuantilesAgreeWithSortedValues) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<uint64_t> values = SomeValues(seed, 50 * seed);
    Histogram<7> histogram;
    for (uint64_t value : values) {
      histogram.Record(value);
    }
    std::sort(values.begin(), values.end());
    for (double q : {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto wanted = static_cast<size_t>(
          std::ceil(q * static_cast<double>(values.size())));
      const size_t rank = std::max<size_t>(wanted, 1);
      const auto exact = static_cast<double>(values[rank - 1]);
      EXPECT_NEAR(static_cast<double>(histogram.Quantile(q)), exact,
                  exact / 256)
          << "seed " << seed << ", quantile " << q;
    }
    EXPECT_EQ(histogram.min(), values.front());
    EXPECT_EQ(histogram.max(), values.back());
  }
}

TEST(Histogram, MergeIsExact) {
  Histogram<4> all;
  Histogram<4> first;
  Histogram<4> second;
  for (uint64_t value : SomeValues(1, 300)) {
    first.Record(value);
    all.Record(value);
  }
  for (uint64_t value : SomeValues(2, 500)) {
    second.Record(value);
    all.Record(value);
  }
  first.Merge(second);
  EXPECT_EQ(first.count(), all.count());
  EXPECT_EQ(first.sum(), all.sum());
  EXPECT_EQ(first.min(), all.min());
  EXPECT_EQ(first.max(), all.max());
  for (size_t i = 0; i < Histogram<4>::kBucketCount; ++i) {
    ASSERT_EQ(first.bucket(i), all.bucket(i)) << "bucket " << i;
  }
}

TEST(Histogram, MergeOfEmptyOnesChangesNothing) {
  Histogram<4> histogram;
  histogram.Merge(Histogram<4>());
  EXPECT_EQ(histogram.min(), 0u);
  histogram.Record(7);
  histogram.Merge(Histogram<4>());
  EXPECT_EQ(histogram.min(), 7u);
  EXPECT_EQ(histogram.max(), 7u);
}

TEST(Histogram, ClearForgetsEverything) {
  Histogram<4> histogram;
  histogram.Record(5);
  histogram.Clear();
  EXPECT_EQ(histogram.count(), 0u);
  histogram.Record(9);
  EXPECT_EQ(histogram.min(), 9u);
  EXPECT_EQ(histogram.Quantile(0.5), 9u);
}

TEST(Histogram, CountAtOrBelowCountsWholeBuckets) {
  Histogram<4> histogram;
  for (uint64_t value = 0; value < 32; ++value) {
    histogram.Record(value);  // buckets of width 1
  }
  EXPECT_EQ(histogram.CountAtOrBelow(0), 1u);
  EXPECT_EQ(histogram.CountAtOrBelow(31), 32u);
  histogram.Record(32);  // bucket [32, 34)
  EXPECT_EQ(histogram.CountAtOrBelow(32), 32u);
  EXPECT_EQ(histogram.CountAtOrBelow(33), 33u);
}

TEST(Histogram, MeanIsExact) {
  Histogram<4> histogram;
  histogram.Record(1'000'000'007);
  histogram.Record(3);
  EXPECT_DOUBLE_EQ(histogram.mean(), 500'000'005.0);
}

}  // namespace
}  // namespace ferry
