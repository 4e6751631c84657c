// LatencyHistogram counts latencies in nanoseconds, each within 0.4 % of its
// value; minimum and maximum exact. Mergeable over threads, points and runs.
//
// Thread safety: that of Histogram: one writer, any number of readers.
#ifndef FERRY_BENCH_LOAD_LATENCY_HISTOGRAM_H_
#define FERRY_BENCH_LOAD_LATENCY_HISTOGRAM_H_

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/histogram.h"

namespace ferry::bench {

inline constexpr int kLatencySubBucketBits = 7;
inline constexpr double kLatencyRelativeError =
    1.0 / (2 << kLatencySubBucketBits);

using LatencyHistogram = Histogram<kLatencySubBucketBits>;

// Counts `latency`; one below zero as zero.
inline void RecordLatency(LatencyHistogram& histogram, Duration latency) {
  histogram.Record(
      static_cast<uint64_t>(std::max<int64_t>(latency.count(), 0)));
}

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_LATENCY_HISTOGRAM_H_
