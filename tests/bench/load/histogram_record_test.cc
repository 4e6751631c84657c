// Tests that a histogram written down and put back is the same one.
#include "bench/load/histogram_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

LatencyHistogram Random(uint64_t seed, int values) {
  std::mt19937_64 random(seed);
  LatencyHistogram histogram;
  for (int i = 0; i < values; ++i) {
    histogram.Record(random() >> (random() % 64));
  }
  return histogram;
}

void ExpectSame(const LatencyHistogram& one, const LatencyHistogram& other) {
  for (size_t i = 0; i < LatencyHistogram::kBucketCount; ++i) {
    ASSERT_EQ(one.bucket(i), other.bucket(i)) << i;
  }
  EXPECT_EQ(one.count(), other.count());
  EXPECT_EQ(one.sum(), other.sum());
  EXPECT_EQ(one.min(), other.min());
  EXPECT_EQ(one.max(), other.max());
}

TEST(HistogramRecordTest, RestoredHistogramIsTheSame) {
  for (const int values : {0, 1, 5000}) {
    const LatencyHistogram histogram = Random(7, values);
    const auto restored = Restore(RecordOf(histogram));
    ASSERT_TRUE(restored.ok()) << restored.status();
    ExpectSame(*restored, histogram);
  }
}

TEST(HistogramRecordTest, RestoredPartsMergeToTheHistogramOfAll) {
  LatencyHistogram all = Random(1, 4000);
  all.Merge(Random(2, 3000));
  LatencyHistogram merged = *Restore(RecordOf(Random(1, 4000)));
  merged.Merge(*Restore(RecordOf(Random(2, 3000))));
  ExpectSame(merged, all);
}

TEST(HistogramRecordTest, BucketsAreNamedByTheirHighestValue) {
  LatencyHistogram histogram;
  histogram.Record(5);
  histogram.Record(256);
  histogram.Record(257);
  const HistogramRecord record = RecordOf(histogram);
  EXPECT_THAT(record.buckets,
              ::testing::ElementsAre(HistogramRecord::Bucket{5, 1},
                                     HistogramRecord::Bucket{257, 2}));
  EXPECT_EQ(record.sum_ns, 518u);
}

TEST(HistogramRecordTest, WrongRecordsAreRefused) {
  const HistogramRecord right = RecordOf(Random(3, 100));
  HistogramRecord record = right;
  record.count = 99;
  EXPECT_THAT(Restore(record).status().message(),
              HasSubstr("its count of 99, got 100"));
  record = right;
  std::swap(record.buckets[0], record.buckets[1]);
  EXPECT_THAT(Restore(record).status().message(), HasSubstr("ascending"));
  record = right;
  record.buckets = {{256, 100}};
  EXPECT_THAT(Restore(record).status().message(),
              HasSubstr("got 256 with count 100"));
}

}  // namespace
}  // namespace ferry::bench
