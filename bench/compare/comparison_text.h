// ToText() puts a comparison in words, ToJson() in "ferry-bench-compare/1".
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMPARE_COMPARISON_TEXT_H_
#define FERRY_BENCH_COMPARE_COMPARISON_TEXT_H_

#include <string>

#include "bench/compare/comparison.h"
#include "bench/report/report_table.h"

namespace ferry::bench {

// Returns a row for each metric of each load, with the notes below.
ReportTable MakeTable(const Comparison& comparison);

// Returns warnings, the table in columns and its notes, for a terminal of so
// many columns; 0: as wide as it is.
std::string ToText(const Comparison& comparison, size_t columns = 0);

// Returns "7 pairs", "5 and 4 repeats", "one run each, by slices" or "one
// search each".
std::string DescribeMethod(const LoadComparison& load);

std::string ToJson(const Comparison& comparison);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_COMPARISON_TEXT_H_
