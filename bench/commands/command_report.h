// Report() and its like print what a command measured, and write it to files.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMMANDS_COMMAND_REPORT_H_
#define FERRY_BENCH_COMMANDS_COMMAND_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/commands/run_options.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

// Says why on stderr. Returns the exit code.
int Fail(const absl::Status& status);

// Returns a result without points: the client's machine, its command and when.
RunResult DescribeClient(const RunOptions& options,
                         const std::string& command_line);

// Says on stderr how much of a trace is played, where the arrivals are one.
void PrintRounds(const RunOptions& options);

// Says on stderr what one point came to.
void PrintPoint(const PointResult& point);

// Prints the table and writes the files that are asked for. Returns the exit
// code: 1 where a file could not be written, or no request of a run or of one
// of LoadsWithoutSuccess() succeeded.
int Report(const RunOptions& options, const std::vector<RunResult>& runs);

// Reports the points before an error that ended the run, if any, and the error.
// Returns the exit code.
int FailAfter(const RunOptions& options, const RunResult& run,
              const absl::Status& status);

// Says at which points of the run a condition of --fail-if holds. Returns the
// exit code: 2 where there is one.
int Judge(const RunOptions& options, const RunResult& run);

// Prints that the search of the run had a rate that this client could not send,
// where there was one: what is told as found, or as less than it, may be the
// client's own limit. The report, which comes before, says what to do.
void PrintCeiling(const RunResult& run);

// Says on stderr what a signal left out, where `what` says something. Returns
// the exit code: kExitInterrupted where there was something left out.
int TellInterruption(const std::string& what);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_COMMAND_REPORT_H_
