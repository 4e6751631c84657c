// `ferry-bench report`: joins the results of labelled runs into one report.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/report_html.h"
#include "bench/report_json.h"
#include "bench/report_table.h"

namespace ferry::bench {
namespace {

struct ReportOptions {
  std::vector<std::string> inputs;
  std::string json_path;
  std::string html_path;
};

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "ferry-bench: %s\n", status.ToString().c_str());
  return 1;
}

int Report(const ReportOptions& options) {
  const auto runs = ReadRuns(options.inputs);
  if (!runs.ok()) {
    return Fail(runs.status());
  }
  std::fputs(ToText(MakeTable(*runs)).c_str(), stdout);
  if (!options.json_path.empty()) {
    if (const auto status = WriteFile(options.json_path, ToJson(*runs));
        !status.ok()) {
      return Fail(status);
    }
  }
  if (!options.html_path.empty()) {
    if (const auto status = WriteFile(options.html_path, ToHtml(*runs));
        !status.ok()) {
      return Fail(status);
    }
    std::printf("report: %s\n", options.html_path.c_str());
  }
  return 0;
}

}  // namespace

void AddReportCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* const command = app.add_subcommand(
      "report", "join the JSON results of labelled runs into one report");
  command->add_option("results", options->inputs, "JSON files of `run`")
      ->required();
  command->add_option("--json", options->json_path,
                      "file for the joined results");
  command->add_option("--html", options->html_path, "file for the page");
  command->callback([options, &invocation] {
    invocation.chosen = [options] { return Report(*options); };
  });
}

}  // namespace ferry::bench
