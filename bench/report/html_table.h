// Escape() and TableToHtml() write text and tables as HTML.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_HTML_TABLE_H_
#define FERRY_BENCH_REPORT_HTML_TABLE_H_

#include <string>

#include "bench/report/report_table.h"

namespace ferry::bench {

// Returns text that cannot become markup, in an element or an attribute.
std::string Escape(const std::string& text);

// Returns the table, in a box that scrolls sideways; without its notes.
std::string TableToHtml(const ReportTable& table);

// Returns the table, folded behind `summary` with its number of rows.
std::string FoldedTable(const std::string& summary, const ReportTable& table);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_HTML_TABLE_H_
