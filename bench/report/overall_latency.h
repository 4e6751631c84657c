// OverallPercentileUs() takes latency over all requests of a point, not only
// those that succeeded: one that failed, was not sent or had no answer is
// infinitely late, as a search has it.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_OVERALL_LATENCY_H_
#define FERRY_BENCH_REPORT_OVERALL_LATENCY_H_

#include <optional>

#include "bench/report/run_result.h"

namespace ferry::bench {

// Returns the percentile, 0 < q <= 1, in microseconds; infinity where so many
// failed that it is one of them. Nothing where no request succeeded, and of
// points of older files, which have no histogram.
std::optional<double> OverallPercentileUs(const PointResult& point, double q);

// Returns the mean of the successes, in microseconds; infinity where fewer than
// kLeastSuccessShare succeeded: it would be that of requests that the server
// chose to answer. Nothing where none succeeded.
std::optional<double> OverallMeanUs(const PointResult& point);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_OVERALL_LATENCY_H_
