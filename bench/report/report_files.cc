// Implements ReportFiles: adds the flags, and writes what each file holds.
#include "bench/report/report_files.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/replaced_file.h"
#include "bench/report/other_tools_json.h"
#include "bench/report/point_rules.h"
#include "bench/report/report_csv.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"
#include "bench/report/writable_file.h"

namespace ferry::bench {
namespace {

// Makes the folders that are missing.
absl::Status WriteAll(const std::string& folder,
                      const std::vector<FileText>& files) {
  for (const FileText& file : files) {
    const std::filesystem::path path =
        std::filesystem::path(folder) / file.name;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("cannot make the folder ",
                                                 path.parent_path().string(),
                                                 ": ", error.message()));
    }
    if (auto written = ReplaceFile(path, file.text); !written.ok()) {
      return written;
    }
  }
  return absl::OkStatus();
}

absl::Status WriteFolders(const ReportFiles& files,
                          const std::vector<RunResult>& runs) {
  struct Folder {
    const std::string& path;
    const char* what;
    absl::StatusOr<std::vector<FileText>> (*write)(
        const std::vector<RunResult>& runs);
  };
  const Folder all[] = {
      {files.aiperf, "AIPerf's files", ToAiperf},
      {files.inference_perf, "inference-perf's files", ToInferencePerf}};
  absl::Status status;
  for (const Folder& folder : all) {
    if (folder.path.empty()) {
      continue;
    }
    const auto texts = folder.write(runs);
    const absl::Status written =
        texts.ok() ? WriteAll(folder.path, *texts) : texts.status();
    status.Update(written);
    if (written.ok()) {
      std::printf("%s: %s, %zu\n", folder.what, folder.path.c_str(),
                  texts->size());
    }
  }
  return status;
}

}  // namespace

void AddReportFileFlags(CLI::App& command, ReportFiles& files) {
  AddResultFile(command, "--json", files.json, "file for the results");
  AddResultFile(command, "--html", files.html, "file for the page");
  AddResultFile(command, "--csv", files.csv, "file for the points as CSV");
  AddResultFile(command, "--markdown", files.markdown,
                "file for the table as Markdown");
  AddResultFile(command, "--perf-analyzer-csv", files.perf_analyzer_csv,
                "file for the points as perf_analyzer's -f writes them: "
                "closed loops, then open ones behind a header of their own");
  AddResultFolder(command, "--aiperf", files.aiperf,
                  "folder for the points as NVIDIA AIPerf's "
                  "profile_export_aiperf.json, each in a folder of its own");
  AddResultFolder(command, "--inference-perf", files.inference_perf,
                  "folder for the points as inference-perf's "
                  "stage_N_lifecycle_metrics.json, and a summary");
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
  status.Update(WriteFolders(files, runs));
  for (const std::string& path :
       {files.perf_analyzer_csv, files.aiperf, files.inference_perf}) {
    if (const size_t count = NotForOtherTools(runs);
        count > 0 && !path.empty()) {
      std::printf("%s: %zu void points or offline queries are left out\n",
                  path.c_str(), count);
    }
  }
  return status;
}

}  // namespace ferry::bench
