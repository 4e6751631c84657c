// ToJson() writes runs as JSON, ParseJson() reads them: format "ferry-bench/1".
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with the file's name and what was expected.
#ifndef FERRY_BENCH_REPORT_REPORT_JSON_H_
#define FERRY_BENCH_REPORT_REPORT_JSON_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

std::string ToJson(const std::vector<RunResult>& runs);

// `name` is for messages.
absl::StatusOr<std::vector<RunResult>> ParseJson(const std::string& text,
                                                 const std::string& name);

// Reads and joins the runs of several files, in order.
absl::StatusOr<std::vector<RunResult>> ReadRuns(
    const std::vector<std::string>& paths);

// Errors: NOT_FOUND where the file cannot be read.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_JSON_H_
