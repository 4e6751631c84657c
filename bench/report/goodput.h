// GoodputOf() counts the requests a second that succeed within a bound of
// latency, so that a server which answers too late, or refuses, does not look
// fast.
//
// A success counts where it ended within the bound of its planned send, by the
// point's histogram: of the bucket in which the bound lies nothing counts, so
// the bound is kept to 0.8 %, never beyond it. The requests are those planned
// in the window, over its length.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_GOODPUT_H_
#define FERRY_BENCH_REPORT_GOODPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

// Returns successes/s within `slo_ms`; nothing of an offline query, which has
// no planned sends, of no window, and of older files without histograms.
std::optional<double> GoodputOf(const PointResult& point, double slo_ms);

// Sets the bound of the run, and by it the goodput of each of its points.
void SetGoodput(double slo_ms, RunResult& run);

// Returns the bound of all the runs that have one; nothing where none has, or
// they differ.
std::optional<double> GoodputSloMs(const std::vector<RunResult>& runs);

// Whether one of the runs has a bound, so that tables have a column of it.
bool HasGoodput(const std::vector<RunResult>& runs);

// Returns what that column is.
std::string DescribeGoodput(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_GOODPUT_H_
