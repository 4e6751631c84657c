// ReportFiles names the files and folders in which a command leaves its
// results.
//
// Thread safety: plain values; functions of their arguments.
// Errors: UNAVAILABLE, with the name of what cannot be written; those of
// other_tools_json.h.
#ifndef FERRY_BENCH_REPORT_REPORT_FILES_H_
#define FERRY_BENCH_REPORT_REPORT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/report/report_html.h"
#include "bench/report/run_result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

struct ReportFiles {  // empty: not written
  std::string json;
  std::string html;
  std::string csv;
  std::string markdown;
  std::string perf_analyzer_csv;
  std::string aiperf;          // folder
  std::string inference_perf;  // folder
};

// Adds a flag for each to `command`; its parsing fills `files`, which outlives
// it.
void AddReportFileFlags(CLI::App& command, ReportFiles& files);

// Writes those that are asked for and says so on stdout; `page` is of --html.
// Where one cannot be written the others are.
absl::Status WriteReportFiles(const ReportFiles& files,
                              const std::vector<RunResult>& runs,
                              const PageOptions& page = {});

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_REPORT_FILES_H_
