// IsTry() and its like say what a point may be used for: whether it is a mere
// try of a search, whether its rate is what the search found, whether enough of
// its requests succeeded. One set of rules for tables, page, knee and plan.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_POINT_RULES_H_
#define FERRY_BENCH_REPORT_POINT_RULES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

// The share of planned requests that must succeed where a bound is to be kept.
inline constexpr double kLeastSuccessShare = 0.99;

// Returns the share of planned requests that succeeded; 0 where none was
// planned.
double SuccessShare(const PointResult& point);

// Returns why the point says nothing about how it would go on: that it was
// called unsteady, or, of files that were written by another rule, an open loop
// that fell behind what was sent (FellBehind()). "" where it does.
std::string WhyUnsteady(const PointResult& point);

// Returns what keeps a load from being one that the server carries, whatever
// its latency: "38.4 % failed" where fewer than kLeastSuccessShare succeeded,
// else "unsteady: ..." (WhyUnsteady()). "" where nothing does.
std::string WhyNotCarried(const PointResult& point);

// Whether the point narrows a search down ("bisect: met") and confirms nothing:
// its window may have ended early.
bool IsTry(const PointResult& point);

// Whether the point is an open loop of a search at another rate than the found
// one: a try, or a confirmation of a rate whose confirmations did not all meet
// the bound. REQUIRES: the point is one of `run`'s.
bool IsUnconfirmed(const RunResult& run, const PointResult& point);

// Returns the highest rate whose try met the bound where the run's search
// confirmed none, as on a busy machine; nothing without one.
std::optional<double> UnconfirmedRate(const RunResult& run);

// Returns the loads, as DescribeLoad() has them, of the run's points of which
// no request succeeded; none that was cut short, nor of a search, which goes to
// where they fail.
std::vector<std::string> LoadsWithoutSuccess(const RunResult& run);

// Whether the formats of other tools have the point: it stands, and is no
// offline query, for which they have no fields.
bool IsForOtherTools(const PointResult& point);

// Returns how many points are not (IsForOtherTools()).
size_t NotForOtherTools(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_POINT_RULES_H_
