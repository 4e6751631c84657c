// Implements ToText() of a comparison: rows, units, and the words around them.
#include "bench/compare/comparison_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/printable_text.h"
#include "flags/terminal.h"

namespace ferry::bench {
namespace {

std::string Amount(const Metric& metric, double value) {
  if (std::isnan(value)) {
    return "-";
  }
  if (metric.unit == "us") {
    return absl::StrFormat("%.3f ms", value / 1e3);
  }
  if (!metric.is_ratio) {
    return absl::StrFormat("%.2f %%", value * 100);
  }
  if (metric.name == "rows") {
    return absl::StrFormat("%.2f", value);
  }
  return absl::StrCat(absl::StrFormat("%.1f", value),
                      metric.unit == "/s" ? "" : " ", metric.unit);
}

std::string Between(const Metric& metric) {
  if (std::isnan(metric.a) || std::isnan(metric.b)) {
    return "-";
  }
  if (!metric.is_ratio) {
    return absl::StrFormat("%+.2f points", (metric.b - metric.a) * 100);
  }
  return absl::StrFormat("%.3f", metric.b / metric.a);
}

std::string IntervalOf(const Metric& metric) {
  if (!metric.estimate.has_value()) {
    return "unknown";
  }
  return metric.is_ratio
             ? absl::StrFormat("%.3f to %.3f", metric.low(), metric.high())
             : absl::StrFormat("%+.2f to %+.2f", metric.low() * 100,
                               metric.high() * 100);
}

}  // namespace

std::string DescribeMethod(const LoadComparison& load) {
  switch (load.method) {
    case Method::kPairs:
      return absl::StrCat(load.runs_a, " pairs");
    case Method::kRepeats:
      return absl::StrCat(load.runs_a, " and ", load.runs_b, " repeats");
    case Method::kPrecision:
      return "one search each";
    case Method::kSlices:
      break;
  }
  return "one run each, by slices";
}

ReportTable MakeTable(const Comparison& comparison) {
  ReportTable table;
  table.names = 3;
  table.headings = {"load", "by", "metric", "A", "B", "B/A", "95 %", "verdict"};
  for (const LoadComparison& load : comparison.loads) {
    for (const Metric& metric : load.metrics) {
      table.rows.push_back({load.load, DescribeMethod(load), metric.name,
                            Amount(metric, metric.a), Amount(metric, metric.b),
                            Between(metric), IntervalOf(metric),
                            VerdictText(metric)});
    }
  }
  if (table.rows.empty()) {
    table.headings.clear();  // notes alone
  }
  for (const std::string& left_out : comparison.left_out) {
    table.notes.push_back("not compared: " + left_out);
  }
  table.notes.insert(table.notes.end(), comparison.notes.begin(),
                     comparison.notes.end());
  return table;
}

std::string ToText(const Comparison& comparison, size_t columns) {
  ReportTable table = MakeTable(comparison);
  size_t width = 0;
  for (const auto& row : table.rows) {
    width = std::max(width, row.back().size());
  }
  if (!table.headings.empty()) {
    table.headings.back().resize(std::max(width, table.headings.back().size()),
                                 ' ');
  }
  for (auto& row : table.rows) {  // words begin in one column
    row.back().resize(width, ' ');
  }
  std::string text =
      absl::StrFormat("A: %s\nB: %s\n", PrintableText(comparison.name_a),
                      PrintableText(comparison.name_b));
  const auto warn = [&](const std::string& warning) {
    absl::StrAppend(&text, Wrapped(PrintableText(warning), columns, 2), "\n");
  };
  for (const std::string& warning : comparison.warnings) {
    warn("WARNING: A and B differ: " + warning);
  }
  for (const std::string& unsteady : comparison.unsteady) {
    warn("WARNING: " + unsteady);
  }
  return absl::StrCat(text, "\n", ToText(table, columns));
}

}  // namespace ferry::bench
