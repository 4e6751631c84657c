// ReportTable is the table that terminal and page share: one row for each
// point, one cell for each number.
//
// Thread safety: free functions over values.
#ifndef FERRY_BENCH_REPORT_REPORT_TABLE_H_
#define FERRY_BENCH_REPORT_REPORT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

struct ReportTable {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;  // voided points, failures, comparison
  size_t names = 2;                // columns that name a row, the first ones
};

ReportTable MakeTable(const std::vector<RunResult>& runs);

// Returns what MakeTable() leaves out: latency from the actual send, of failed
// requests, send lag, what the server says of copies and of why batches closed.
ReportTable MakeDetailTable(const std::vector<RunResult>& runs);

// Returns what each class of requests met; no rows where all are of one.
ReportTable MakeClassTable(const std::vector<RunResult>& runs);

// Returns the table in columns, with its notes below. On a terminal of so many
// columns (TerminalColumns()) nothing is wider where that can be: what no row
// tells is left out, names that all rows share come first, and the rest stands
// in blocks below each other. 0: all of it, as wide as it is.
std::string ToText(const ReportTable& table, size_t columns = 0);

// Returns "3 UNAVAILABLE, 1 INTERNAL", or "0".
std::string DescribeErrors(const std::map<std::string, uint64_t>& errors);

// Returns "closed, 64 outstanding", "open, 70 % load", or "open, 500/s,
// gamma:3" where arrivals are not Poisson.
std::string DescribeLoad(const PointResult& point);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_TABLE_H_
