// Implements `ferry-bench report`: joins labelled results into one report.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/price_flags.h"
#include "bench/report/goodput.h"
#include "bench/report/report_files.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"
#include "flags/terminal.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

struct ReportOptions {
  std::vector<std::string> inputs;
  ReportFiles files;
  std::optional<double> slo_ms;
  PriceFlags price;
};

// Returns what the page says beside the results.
absl::StatusOr<PageOptions> MakePageOptions(const ReportOptions& options) {
  PageOptions page = {.slo_ms = options.slo_ms};
  if (options.price.path.empty()) {
    return page;
  }
  const auto price = ReadPrice(options.price);
  if (!price.ok()) {
    return price.status();
  }
  page.price = {.currency = price->currency,
                .row = absl::StrCat(
                    plan::Describe(price->row),
                    price->overheads.empty() ? "" : ", with overheads (",
                    price->overheads, price->overheads.empty() ? "" : ")"),
                .as_of = price->as_of,
                .source = price->source,
                .age_warning = price->age_warning,
                .device_per_hour = plan::DevicePerHour(price->row)};
  return page;
}

int Report(const ReportOptions& options) {
  auto runs = ReadRuns(options.inputs);
  if (!runs.ok()) {
    return Fail(runs.status());
  }
  if (options.slo_ms.has_value()) {
    for (RunResult& run : *runs) {
      SetGoodput(*options.slo_ms, run);
    }
  }
  const auto page = MakePageOptions(options);
  if (!page.ok()) {
    return Fail(page.status());
  }
  std::fputs(ToText(MakeTable(*runs), TerminalColumns()).c_str(), stdout);
  if (const auto status = WriteReportFiles(options.files, *runs, *page);
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
  command
      ->add_option("results", options->inputs,
                   "JSON file of `run`, `search` or `tune`")
      ->type_name("FILE")
      ->required();
  AddReportFileFlags(*command, options->files);
  command
      ->add_option("--slo-ms", options->slo_ms,
                   "bound of p99 to judge by and to draw, and of the goodput; "
                   "default: that of `run --slo-ms`, or of a search")
      ->check(NumberFrom(0.001, 1e9));
  AddPriceFlags(*command, options->price);
  command->callback([options, &invocation] {
    invocation.chosen = [options] { return Report(*options); };
  });
}

}  // namespace ferry::bench
