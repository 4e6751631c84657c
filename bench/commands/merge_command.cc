// Implements `ferry-bench merge`: joins what several machines measured.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/report/merge_runs.h"
#include "bench/report/report_files.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"
#include "flags/terminal.h"

namespace ferry::bench {
namespace {

struct MergeOptions {
  std::vector<std::string> inputs;
  ReportFiles files;
};

int Merge(const MergeOptions& options) {
  std::vector<RunsOfFile> files;
  for (const std::string& path : options.inputs) {
    auto runs = ReadRuns({path});
    if (!runs.ok()) {
      return Fail(runs.status());
    }
    files.push_back({path, *std::move(runs)});
  }
  const auto joined = MergeRuns(files);
  if (!joined.ok()) {
    return Fail(joined.status());
  }
  std::fputs(ToText(MakeTable(*joined), TerminalColumns()).c_str(), stdout);
  if (const auto status = WriteReportFiles(options.files, *joined);
      !status.ok()) {
    return Fail(status);
  }
  return 0;
}

}  // namespace

void AddMergeCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* const command = app.add_subcommand(
      "merge",
      "join the JSON results of several client machines that measured one "
      "server at one time: rates add up, latencies are joined exactly");
  command->add_option("results", options->inputs, "JSON files of `run`")
      ->type_name("FILE")
      ->required()
      ->expected(2, CLI::detail::expected_max_vector_size);
  AddReportFileFlags(*command, options->files);
  command->callback([options, &invocation] {
    invocation.chosen = [options] { return Merge(*options); };
  });
}

}  // namespace ferry::bench
