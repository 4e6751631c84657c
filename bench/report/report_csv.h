// Points as CSV, RFC 4180, and tables as Markdown.
//
// Thread safety: free functions over values.
#ifndef FERRY_BENCH_REPORT_REPORT_CSV_H_
#define FERRY_BENCH_REPORT_REPORT_CSV_H_

#include <string>
#include <vector>

#include "bench/report/report_table.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

// Returns a line a point: rates in requests/s, times in microseconds, all with
// a name in the first line.
std::string ToCsv(const std::vector<RunResult>& runs);

// Returns the columns that perf_analyzer's `-f` writes, so that what reads
// those reads these: closed loops by concurrency, then open loops by request
// rate, each behind a line of names, void points left out. The parts of a
// latency that only its client knows are 0, and the server's where it does not
// tell them.
std::string ToPerfAnalyzerCsv(const std::vector<RunResult>& runs);

// Returns the table with its notes below, as a list.
std::string ToMarkdown(const ReportTable& table);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_CSV_H_
