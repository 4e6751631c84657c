// ToAiperf() and ToInferencePerf() write points as the JSON files of NVIDIA
// AIPerf and of inference-perf, so that what reads those reads these.
//
// Source of fields and units: AIPerf 0.13.0, schema 1.4 of its
// profile_export_aiperf.json, and inference-perf 0.7.0. docs/bench.md says what
// each holds here. What is not measured, as tokens, has no field.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT where a point has no histograms, as in files of
// earlier versions.
#ifndef FERRY_BENCH_REPORT_OTHER_TOOLS_JSON_H_
#define FERRY_BENCH_REPORT_OTHER_TOOLS_JSON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

struct FileText {
  std::string name;  // below the folder of all
  std::string text;
};

// Returns run_NNNN/profile_export_aiperf.json for each point that
// IsForOtherTools(), numbered from 1 over all runs: times in ms, rates in
// requests/s.
absl::StatusOr<std::vector<FileText>> ToAiperf(
    const std::vector<RunResult>& runs);

// Returns stage_N_lifecycle_metrics.json for each such point, numbered from 0
// over all runs, and summary_lifecycle_metrics.json of all together; none
// without a point. Times in seconds, rates in requests/s.
absl::StatusOr<std::vector<FileText>> ToInferencePerf(
    const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_OTHER_TOOLS_JSON_H_
