// MeanInterval() and QuantileInterval() say how far a mean or a percentile of
// one run may be from the truth, although latencies next to each other are
// alike; Unsteadiness(), whether the run was steady.
//
// The measured window is cut into slices, joined to batches that are long
// against the latency: 50 times its p99, or as many slices as leave ten
// batches. What correlation is left between a batch and the next widens the
// interval and takes degrees of freedom (VarianceInflation). The interval of
// the mean is Student's t of the batches. Source: A. M. Law, Simulation
// Modeling and Analysis, chapter 9.
//
// That of a percentile is of the share of latencies at or below it, and back to
// latencies by those of the whole run: where the batches cannot bound it from
// above, its end is the latency with ten above it. Source: R. S. Woodruff,
// Journal of the American Statistical Association 47, 1952; for batches D. L.
// Iglehart, Naval Research Logistics Quarterly 23, 1976.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_LOAD_BATCH_MEANS_H_
#define FERRY_BENCH_LOAD_BATCH_MEANS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/load_result.h"

namespace ferry::bench {

// 95 % confidence, in microseconds.
struct Interval {
  double low_us = 0;
  double high_us = 0;
  double degrees = 0;  // of freedom, of its t; 0: not told, as in older files
};

// Batches that give intervals at least, else there is none.
inline constexpr size_t kLeastBatches = 10;

// Returns the interval of the mean latency of successes. Nothing where ten
// batches of ten times p99 do not fit the window.
std::optional<Interval> MeanInterval(const LoadResult& load);

// Returns that of a percentile, 0 < q < 1, rounded out to the buckets of the
// histogram. Slices are joined until each batch has ten latencies above its
// percentile, too; nothing where that leaves too few.
std::optional<Interval> QuantileInterval(const LoadResult& load, double q);

// Returns the requests that a percentile takes: so many that ten are above it.
uint64_t SamplesFor(double q);

// Returns why the run was not steady: the median latency of the slices goes up
// or down by more than a fifth over the window, and not by chance; an open loop
// fell behind what was sent (FellBehind()); the rate of a closed loop's slices
// goes up or down likewise, or it paused because the server was UNAVAILABLE.
// Empty where it was, and where it cannot be told, as of one that was ended
// early by a decision, and of a query.
std::string Unsteadiness(const LoadResult& load);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_BATCH_MEANS_H_
