// Implements ReportFiles: adds the flags, and writes what each file holds.
#include "bench/report/report_files.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>

#include "base/replaced_file.h"
#include "bench/report/report_csv.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"
#include "bench/report/writable_file.h"

namespace ferry::bench {

void AddReportFileFlags(CLI::App& command, ReportFiles& files) {
  AddResultFile(command, "--json", files.json, "file for the results");
  AddResultFile(command, "--html", files.html, "file for the page");
  AddResultFile(command, "--csv", files.csv, "file for the points as CSV");
  AddResultFile(command, "--markdown", files.markdown,
                "file for the table as Markdown");
  AddResultFile(command, "--perf-analyzer-csv", files.perf_analyzer_csv,
                "file for the points as perf_analyzer's -f writes them: "
                "closed loops, then open ones behind a header of their own");
}

absl::Status WriteReportFiles(const ReportFiles& files,
                              const std::vector<RunResult>& runs,
                              const PageOptions& page) {
  struct File {
    const std::string& path;
    const char* what;
    std::function<absl::StatusOr<std::string>()> write;
  };
  const File all[] = {
      {files.json, "results", [&] { return ToJson(runs); }},
      {files.html, "report", [&] { return ToHtml(runs, page); }},
      {files.csv, "points", [&] { return ToCsv(runs); }},
      {files.markdown, "table", [&] { return ToMarkdown(MakeTable(runs)); }},
      {files.perf_analyzer_csv, "perf_analyzer's table",
       [&] { return ToPerfAnalyzerCsv(runs); }}};
  absl::Status status;  // of the first that cannot be written
  for (const File& file : all) {
    if (file.path.empty()) {
      continue;
    }
    const auto contents = file.write();
    const absl::Status written =
        contents.ok() ? ReplaceFile(file.path, *contents) : contents.status();
    status.Update(written);
    if (written.ok()) {
      std::printf("%s: %s\n", file.what, file.path.c_str());
    }
  }
  if (const size_t count = NotInPerfAnalyzerCsv(runs);
      count > 0 && !files.perf_analyzer_csv.empty()) {
    std::printf("%s: %zu void points or offline queries are left out\n",
                files.perf_analyzer_csv.c_str(), count);
  }
  return status;
}

}  // namespace ferry::bench
