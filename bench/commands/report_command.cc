// `ferry-bench report`: joins the results of labelled runs into one report.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/report/report_files.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

struct ReportOptions {
  std::vector<std::string> inputs;
  ReportFiles files;
};

int Report(const ReportOptions& options) {
  const auto runs = ReadRuns(options.inputs);
  if (!runs.ok()) {
    return Fail(runs.status());
  }
  std::fputs(ToText(MakeTable(*runs)).c_str(), stdout);
  if (const auto status = WriteReportFiles(options.files, *runs);
      !status.ok()) {
    return Fail(status);
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
  AddReportFileFlags(*command, options->files);
  command->callback([options, &invocation] {
    invocation.chosen = [options] { return Report(*options); };
  });
}

}  // namespace ferry::bench
