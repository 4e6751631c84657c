// ComparisonsToHtml() and its like make sections of the page, each a chart with
// its numbers. The script of the same id, in page/, draws the chart; the table
// is made here. No numbers, no section.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_PAGE_SECTION_H_
#define FERRY_BENCH_REPORT_PAGE_SECTION_H_

#include <string>
#include <vector>

#include "bench/report/money.h"
#include "bench/report/page_tables.h"

namespace ferry::bench {

// What all sections are made of.
struct PageData {
  const std::vector<RunResult>& runs;
  std::optional<double> slo_ms;
  std::vector<PointPlace> front;
  std::optional<PointPlace> chosen;
  std::optional<PagePrice> price;
};

// Charts that compare runs.
std::string ComparisonsToHtml(const PageData& data);

// Charts of one run at a time, its points side by side.
std::string PointsToHtml(const PageData& data);

// What each setting carries; empty where no runtime options were turned.
std::string SettingsToHtml(const PageData& data);

// Costs; empty without a price.
std::string MoneyToHtml(const PageData& data);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_PAGE_SECTION_H_
