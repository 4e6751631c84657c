// Texts that the build puts into the program: the page's frame and script, and
// the charting library from its package.
#ifndef FERRY_BENCH_REPORT_REPORT_ASSETS_H_
#define FERRY_BENCH_REPORT_REPORT_ASSETS_H_

namespace ferry::bench {

extern const char kReportPage[];    // bench/report/report_page.html
extern const char kReportScript[];  // bench/report/report_page.js
extern const char kChartLibrary[];  // Chart.js, minified

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_ASSETS_H_
