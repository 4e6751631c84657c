// Flags, and what each file holds.
#include "bench/report/report_files.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/report/report_csv.h"
#include "bench/report/report_html.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"

namespace ferry::bench {

void AddReportFileFlags(CLI::App& command, ReportFiles& files) {
  command.add_option("--json", files.json, "file for the results");
  command.add_option("--html", files.html, "file for the page");
  command.add_option("--csv", files.csv, "file for the points as CSV");
  command.add_option("--markdown", files.markdown,
                     "file for the table as Markdown");
  command.add_option("--perf-analyzer-csv", files.perf_analyzer_csv,
                     "file for the points as perf_analyzer's -f writes them");
}

absl::Status WriteReportFiles(const ReportFiles& files,
                              const std::vector<RunResult>& runs) {
  struct File {
    const std::string& path;
    const char* what;
    std::string (*write)(const std::vector<RunResult>& runs);
  };
  const File all[] = {
      {files.json, "results", ToJson},
      {files.html, "report", ToHtml},
      {files.csv, "points", ToCsv},
      {files.markdown, "table",
       [](const auto& of) { return ToMarkdown(MakeTable(of)); }},
      {files.perf_analyzer_csv, "perf_analyzer's table", ToPerfAnalyzerCsv}};
  for (const File& file : all) {
    if (file.path.empty()) {
      continue;
    }
    if (absl::Status status = WriteFile(file.path, file.write(runs));
        !status.ok()) {
      return status;
    }
    std::printf("%s: %s\n", file.what, file.path.c_str());
  }
  return absl::OkStatus();
}

}  // namespace ferry::bench
