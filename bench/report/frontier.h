// Frontier() gives the Pareto front of throughput against p99, the points that
// no other beats in both; Chosen() gives the one to choose.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_FRONTIER_H_
#define FERRY_BENCH_REPORT_FRONTIER_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

// A point of a report by its place.
struct PointPlace {
  size_t run = 0;
  size_t point = 0;

  bool operator==(const PointPlace&) const = default;
};

// Whether the numbers of a point stand: neither void nor cut short, with
// successes, and no mere try of a search ("bisect: met").
bool Stands(const PointResult& point);

// Whether it stands and says how it would go on (WhyUnsteady()): only such a
// point is a saturation or has a cost.
bool IsSteady(const PointResult& point);

// Whether it stands and is of a load that the server carries: steady, with
// kLeastSuccessShare (WhyNotCarried()). Fronts, knees, what is chosen, solid
// dots and what a verdict is proud of are of such points alone: a server that
// refuses what it cannot do looks fast.
bool Carries(const PointResult& point);

// Returns the points that are carried (Carries()) and that no other such point
// beats: with a lower p99 and at least the rate, or the same p99 and a higher
// rate. By rising p99, so by rising rate.
std::vector<PointPlace> Frontier(const std::vector<RunResult>& runs);

// Returns the point of the highest achieved rate among those of open loops that
// are carried, have p99 within `slo_ms`, and of a search only the rate that it
// confirmed; none where there is none.
std::optional<PointPlace> Chosen(const std::vector<RunResult>& runs,
                                 double slo_ms);

// Returns the bound that the runs were searched for, where it is one and the
// same and is one of p99.
std::optional<double> SearchedSloMs(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_FRONTIER_H_
