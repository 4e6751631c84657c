// MergeRuns() joins results that several machines measured of one server at one
// time, as one client: rates and counts are added, latencies joined bucket by
// bucket, exactly.
//
// What is not known of the whole is left out: intervals, time lines and shares
// of a saturation. What the server says of itself is the first result's, as it
// counted the requests of all.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with the file, what was expected and what was
// found: results of other models, servers or windows, of other kinds of loads,
// without histograms, of windows that were not at the same time, or of the same
// seed, whose requests were planned for the same moments.
#ifndef FERRY_BENCH_REPORT_MERGE_RUNS_H_
#define FERRY_BENCH_REPORT_MERGE_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

// The runs of one file.
struct RunsOfFile {
  std::string name;  // for messages
  std::vector<RunResult> runs;
};

// Run i of each becomes run i. REQUIRES: at least one file.
absl::StatusOr<std::vector<RunResult>> MergeRuns(
    const std::vector<RunsOfFile>& files);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_MERGE_RUNS_H_
