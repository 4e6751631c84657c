// Implements `ferry-bench plan`: from a measured result to replicas and costs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/replaced_file.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/plan_text.h"
#include "bench/commands/price_flags.h"
#include "bench/report/machine.h"
#include "bench/report/report_json.h"
#include "bench/report/writable_file.h"
#include "flags/terminal.h"

namespace ferry::bench {
namespace {

struct PlanOptions {
  std::string result_path;
  std::string label;
  std::string before_path;
  std::string before_label;
  std::string json_path;
  std::string command_line;
  PriceFlags price;
  PlanRequest request;
};

absl::StatusOr<Plan> ReadPlan(const std::string& path, const std::string& label,
                              const PlanReport& report) {
  const auto limit = ReadSloPoint(path, label, report.request.slo_p99_ms);
  if (!limit.ok()) {
    return limit.status();
  }
  return MakePlan(*limit, report.request, report.price);
}

absl::StatusOr<PlanReport> MakeReport(const PlanOptions& options) {
  PlanReport report;
  report.request = options.request;
  if (!options.price.path.empty()) {
    const auto price = ReadPrice(options.price);
    if (!price.ok()) {
      return price.status();
    }
    report.price = *price;
  }
  const auto plan = ReadPlan(options.result_path, options.label, report);
  if (!plan.ok()) {
    return plan.status();
  }
  report.plan = *plan;
  if (options.before_path.empty()) {
    return report;
  }
  const auto before =
      ReadPlan(options.before_path, options.before_label, report);
  if (!before.ok()) {
    return before.status();
  }
  report.before = *before;
  if (absl::Status status = CheckComparable(*before, *plan); !status.ok()) {
    return status;
  }
  return report;
}

int PrintPlan(const PlanOptions& options) {
  const auto report = MakeReport(options);
  if (!report.ok()) {
    return Fail(report.status());
  }
  std::fputs(PlanText(*report, TerminalColumns()).c_str(), stdout);
  if (options.json_path.empty()) {
    return 0;
  }
  const auto status = ReplaceFile(
      options.json_path, PlanJson(*report, options.command_line, DateNow()));
  return status.ok() ? 0 : Fail(status);
}

void AddRequestOptions(CLI::App& command, PlanRequest& request) {
  command
      .add_option("--slo-p99-ms", request.slo_p99_ms,
                  "p99 that a replica must keep")
      ->required();
  command.add_option("--peak-rate", request.peak_rate,
                     "requests/s of all replicas to plan for");
  command.add_option("--average-rate", request.average_rate,
                     "requests/s on average, for the cost of a million");
  command
      .add_option("--headroom", request.headroom,
                  "share of the measured rate to plan with")
      ->capture_default_str();
  command
      .add_option("--spares", request.spares,
                  "replicas beyond those that the peak needs")
      ->capture_default_str();
  command
      .add_option("--lost-share", request.lost_share,
                  "share of the replicas that may go at once")
      ->capture_default_str();
  command.add_option(
      "--power-w", request.power_w,
      "mean power of one device at the average rate; default: the "
      "energy that the device counted, where the result has it");
}

}  // namespace

void AddPlanCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App& command = *app.add_subcommand(
      "plan", "say how many replicas a result calls for, and what they cost");
  command.add_option("result", options->result_path, "JSON file of `run`")
      ->type_name("FILE")
      ->required();
  command.add_option("--label", options->label,
                     "run to plan with, where the file has several");
  AddRequestOptions(command, options->request);
  AddPriceFlags(command, options->price);
  command.option_defaults()->group("Options");
  CLI::Option* const before =
      command
          .add_option("--before", options->before_path,
                      "JSON file of `run` to compare with")
          ->type_name("FILE");
  command
      .add_option("--before-label", options->before_label,
                  "its run, where it has several")
      ->needs(before);
  AddResultFile(command, "--json", options->json_path, "file for the plan");
  command.callback([options, &invocation] {
    options->command_line = invocation.command_line;
    invocation.chosen = [options] { return PrintPlan(*options); };
  });
}

}  // namespace ferry::bench
