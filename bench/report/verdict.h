// Verdicts() says what the runs came to, in a sentence for each model: the line
// that the page begins with.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_VERDICT_H_
#define FERRY_BENCH_REPORT_VERDICT_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

// Returns a sentence for each model, in the order of the runs. What a run
// carries is, by what it has: the rate of its search; with `slo_ms`, the
// highest open-loop point within it; its saturation; where it has no other
// load, the rows/s of its offline query. Several runs of a model are compared
// where that is of one kind. A sentence is of loads that are carried
// (Carries()); it says what share failed or what was unsteady of those above
// them, tells no percentile that has too few requests, and says where a device
// was simulated, and where nothing can be said, why.
std::vector<std::string> Verdicts(const std::vector<RunResult>& runs,
                                  const std::optional<double>& slo_ms);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_VERDICT_H_
