// ReportLoads() measures a target's loads one after the other; ReportSearch()
// searches the highest rate at which it keeps a bound. Both report. `local`,
// `search` and ferry-inprocess call them on the target that they have made.
//
// Thread safety: free functions, called from main(); a signal ends the load
// under way, and what was measured is reported.
#ifndef FERRY_BENCH_COMMANDS_MEASURED_LOADS_H_
#define FERRY_BENCH_COMMANDS_MEASURED_LOADS_H_

#include "bench/commands/run_options.h"
#include "bench/commands/search_flags.h"
#include "bench/report/run_result.h"
#include "bench/search/sweep.h"

namespace ferry::bench {

// Runs the sweep into `run`, prints and writes its report, with the goodput
// where options.slo_ms says so, and judges it. Returns the exit code.
int ReportLoads(const RunOptions& options, Sweep& sweep, RunResult run);

// Searches, from FirstRate() on, and reports and judges what was confirmed.
// Returns the exit code: 1 where no rate was found.
int ReportSearch(const SearchFlags& flags, const Searched& searched,
                 RunResult run);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_MEASURED_LOADS_H_
