// Batch means: how far a mean or a percentile of one run may be from the truth,
// although latencies next to each other are alike, and whether the run was
// steady.
//
// The measured window is cut into slices; each gives its own mean or
// percentile, and slices that are long against the queue are nearly
// independent. The interval is theirs by Student's t. Source: A. M. Law,
// Simulation Modeling and Analysis, chapter 9 (batch means); for quantiles L.
// W. Schruben and others use the same.
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
};

// Slices that give intervals at least, else there is none.
inline constexpr size_t kLeastBatches = 10;

// Returns the interval of the mean latency of successes.
std::optional<Interval> MeanInterval(const LoadResult& load);

// Returns that of a percentile, 0 < q < 1. Slices are joined until each has
// ten latencies above its percentile; nothing where that leaves too few.
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
