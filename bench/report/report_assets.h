// kReportPage and its like are strings that the build puts into the program:
// the page's frame, style and script, and the charting library from its
// package.
#ifndef FERRY_BENCH_REPORT_REPORT_ASSETS_H_
#define FERRY_BENCH_REPORT_REPORT_ASSETS_H_

namespace ferry::bench {

extern const char kReportPage[];    // bench/report/page/page.html
extern const char kReportStyle[];   // bench/report/page/page.css
extern const char kReportScript[];  // bench/report/page/*.js, joined
extern const char kChartLibrary[];  // Chart.js, minified

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_ASSETS_H_
