// HistogramRecord holds a LatencyHistogram written down, to be restored
// exactly: the same counts in the same buckets, the same sum, minimum and
// maximum.
//
// Thread safety: plain values; free functions.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_LOAD_HISTOGRAM_RECORD_H_
#define FERRY_BENCH_LOAD_HISTOGRAM_RECORD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/load/latency_histogram.h"

namespace ferry::bench {

struct HistogramRecord {
  struct Bucket {
    uint64_t highest_ns = 0;  // that it holds
    uint64_t count = 0;       // at least 1

    bool operator==(const Bucket&) const = default;
  };

  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  std::vector<Bucket> buckets;  // ascending; those that hold something

  bool operator==(const HistogramRecord&) const = default;
};

HistogramRecord RecordOf(const LatencyHistogram& histogram);

// Errors: where the buckets are not those of a LatencyHistogram in ascending
// order, or their counts do not add up to `count`.
absl::StatusOr<LatencyHistogram> Restore(const HistogramRecord& record);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_HISTOGRAM_RECORD_H_
