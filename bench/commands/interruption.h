// DescribeInterruption() says what Ctrl-C left of the loads to be measured.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMMANDS_INTERRUPTION_H_
#define FERRY_BENCH_COMMANDS_INTERRUPTION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "bench/report/run_result.h"
#include "bench/search/sweep.h"

namespace ferry::bench {

// Exit code of a command that SIGINT or SIGTERM ended before its work was done;
// as a shell has it of SIGINT, 128 + 2.
inline constexpr int kExitInterrupted = 130;

// Returns how many loads a sweep measures: those that are given, and a closed
// loop for the saturation where shares of it need one.
size_t CountLoads(const SweepOptions& options);

// Returns "interrupted: 1 of 3 loads was not measured, 1 was cut short" of
// `loads` that were to be measured, in so many runs as were begun; "" where
// none is missing.
std::string DescribeInterruption(size_t loads,
                                 const std::vector<RunResult>& runs);

// Whether the run's last point was cut short.
bool EndsCutShort(const RunResult& run);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_INTERRUPTION_H_
