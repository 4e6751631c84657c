// Implements HistogramRecord: copies bucket by bucket.
#include "bench/load/histogram_record.h"

#include "absl/strings/str_format.h"

namespace ferry::bench {

HistogramRecord RecordOf(const LatencyHistogram& histogram) {
  HistogramRecord record = {.count = histogram.count(),
                            .sum_ns = histogram.sum(),
                            .min_ns = histogram.min(),
                            .max_ns = histogram.max(),
                            .buckets = {}};
  for (size_t i = 0; i < LatencyHistogram::kBucketCount; ++i) {
    if (histogram.bucket(i) > 0) {
      record.buckets.push_back(
          {LatencyHistogram::LowestOf(i + 1) - 1, histogram.bucket(i)});
    }
  }
  return record;
}

absl::StatusOr<LatencyHistogram> Restore(const HistogramRecord& record) {
  LatencyHistogram histogram;
  size_t least = 0;
  for (const HistogramRecord::Bucket& bucket : record.buckets) {
    const size_t place = LatencyHistogram::BucketOf(bucket.highest_ns);
    if (place < least || bucket.count == 0 ||
        LatencyHistogram::LowestOf(place + 1) - 1 != bucket.highest_ns) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "histogram: expected buckets in ascending order, each with its "
          "highest value and a count, got %d with count %d",
          bucket.highest_ns, bucket.count));
    }
    histogram.AddCounts(bucket.highest_ns, bucket.count);
    least = place + 1;
  }
  if (histogram.count() != record.count) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "histogram: expected buckets that hold its count of %d, got %d",
        record.count, histogram.count()));
  }
  if (record.count > 0) {
    histogram.AddTotals(record.sum_ns, record.min_ns, record.max_ns);
  }
  return histogram;
}

}  // namespace ferry::bench
