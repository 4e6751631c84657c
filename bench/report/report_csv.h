// ToCsv() writes points as CSV, RFC 4180; ToMarkdown() writes tables.
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
// rate, each behind a line of names. Differences from perf_analyzer's own:
//   - "Network+Server Send/Recv" is all of the mean latency from the send that
//     the server does not tell, the client's part included; "Client Send" and
//     "Client Recv", which are not measured apart, are 0, and the server's
//     columns where it tells nothing.
//   - The percentiles of open loops count from the planned send.
// What is not IsForOtherTools() is left out.
std::string ToPerfAnalyzerCsv(const std::vector<RunResult>& runs);

// Returns the table with its notes below, as a list.
std::string ToMarkdown(const ReportTable& table);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_CSV_H_
