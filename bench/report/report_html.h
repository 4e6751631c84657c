// ToHtml() makes one self-contained page for labelled runs: the verdict,
// charts, every number drawn in a table, how it was measured and what was not.
// The page needs no network to be read.
//
// Thread safety: one free function.
// Errors: INVALID_ARGUMENT, with the point, for a latency histogram that is
// none (bench/load/histogram_record.h).
#ifndef FERRY_BENCH_REPORT_REPORT_HTML_H_
#define FERRY_BENCH_REPORT_REPORT_HTML_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/money.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

struct PageOptions {
  // Bounds p99; none: that of the runs' goodput, else of their searches if any.
  std::optional<double> slo_ms = {};
  std::optional<PagePrice> price = {};  // none: no costs
};

absl::StatusOr<std::string> ToHtml(const std::vector<RunResult>& runs,
                                   const PageOptions& options);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_HTML_H_
