// One self-contained page for labelled runs: charts, every number drawn in a
// table, how it was measured. Needs no network to be read.
//
// Thread safety: one free function.
#ifndef FERRY_BENCH_REPORT_REPORT_HTML_H_
#define FERRY_BENCH_REPORT_REPORT_HTML_H_

#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

std::string ToHtml(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_HTML_H_
