// UtilizationOf() gives the offered rate as a share of the most that the server
// served, as the run itself measured that. It is not the busy ratio, which says
// that there was work: a device that serves whatever is there in small batches
// is busy long before it is used up.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_UTILIZATION_H_
#define FERRY_BENCH_REPORT_UTILIZATION_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

struct Saturation {
  double rate = 0;          // requests/s, above 0
  const char* source = "";  // "closed loop" or "search"
};

// Returns the highest rate that a steady closed loop of the run achieved
// (IsSteady()): one that paused for a server that was UNAVAILABLE had fewer
// outstanding than it says. 0: none.
double ClosedLoopSaturation(const RunResult& run);

// Returns what there is to take for the saturation: that rate; where no closed
// loop was steady, the highest of the unsteady ones; where none stands, as the
// client was late, of those. DoubtOfSaturation() says so. 0: none succeeded.
double MeasuredSaturation(const RunResult& run);

// Returns the closed loop of the run that achieved that rate; null without one.
const PointResult* ClosedLoopOf(const RunResult& run, double rate);

// Returns what speaks against its rate: "unsteady: ..."; "" where nothing does.
std::string DoubtOfClosedLoop(const PointResult& point);

// Returns what speaks against the closed loop that achieved the run's
// saturation, "closed, 64 outstanding: unsteady: ..."; "" where nothing does,
// or the run has no saturation, or no such loop.
std::string DoubtOfSaturation(const RunResult& run);

// Returns the run's own saturation, else ClosedLoopSaturation(); the rate that
// its search found where there is neither, or a doubt of it; nothing without
// any.
std::optional<Saturation> SaturationOf(const RunResult& run);

// Returns the point's offered rate / the run's saturation; nothing without a
// saturation, and of what is no open loop. Above 1 where more was offered.
// REQUIRES: the point is one of `run`'s.
std::optional<double> UtilizationOf(const RunResult& run,
                                    const PointResult& point);

// Whether an open loop of one of the runs has a utilization, so that charts of
// latency are over it; else they are over the busy ratio.
bool HasUtilization(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_UTILIZATION_H_
