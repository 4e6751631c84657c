// `ferry-bench plan`: from a measured result to replicas and what they cost.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/plan_text.h"
#include "bench/report/machine.h"
#include "bench/report/report_json.h"

namespace ferry::bench {
namespace {

struct PlanOptions {
  std::string result_path;
  std::string label;
  std::string before_path;
  std::string before_label;
  std::string prices_path;
  std::string kind = "on_demand";
  std::string json_path;
  std::string command_line;
  plan::PriceQuery price;
  PlanRequest request;
};

// Returns the on-demand row of the same device and region, where there is one.
std::optional<plan::PriceRow> OnDemand(const plan::PriceFile& prices,
                                       const plan::PriceRow& row) {
  const auto found =
      plan::FindPrice(prices, {.device = row.device, .region = row.region});
  return found.ok() ? std::optional(*found) : std::nullopt;
}

absl::StatusOr<PlanPrice> ReadPrice(const PlanOptions& options) {
  const auto text = ReadFile(options.prices_path);
  if (!text.ok()) {
    return text.status();
  }
  const auto prices = plan::ParsePrices(*text, options.prices_path);
  if (!prices.ok()) {
    return prices.status();
  }
  const auto kind = plan::ParseKind(options.kind);
  if (!kind.ok()) {
    return kind.status();
  }
  plan::PriceQuery query = options.price;
  query.kind = *kind;
  const auto row = plan::FindPrice(*prices, query);
  if (!row.ok()) {
    return row.status();
  }
  const auto warning = plan::AgeWarning(*prices, DateNow().substr(0, 10));
  if (!warning.ok()) {
    return warning.status();
  }
  PlanPrice price;
  price.currency = prices->currency;
  price.as_of = prices->as_of;
  price.source = prices->source;
  price.age_warning = *warning;
  price.row = *row;
  if (row->kind == plan::PriceKind::kReserved) {
    price.on_demand = OnDemand(*prices, *row);
  }
  return price;
}

absl::StatusOr<Plan> ReadPlan(const std::string& path, const std::string& label,
                              const PlanReport& report) {
  const auto runs = ReadRuns({path});
  if (!runs.ok()) {
    return runs.status();
  }
  const auto selected = SelectRuns(*runs, label, path);
  if (!selected.ok()) {
    return selected.status();
  }
  const auto limit = FindSloPoint(*selected, report.request.slo_p99_ms);
  if (!limit.ok()) {
    return absl::Status(limit.status().code(),
                        path + ": " + std::string(limit.status().message()));
  }
  return MakePlan(*limit, report.request, report.price);
}

absl::StatusOr<PlanReport> MakeReport(const PlanOptions& options) {
  PlanReport report;
  report.request = options.request;
  if (!options.prices_path.empty()) {
    const auto price = ReadPrice(options);
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
  std::fputs(PlanText(*report).c_str(), stdout);
  if (options.json_path.empty()) {
    return 0;
  }
  const auto status = WriteFile(
      options.json_path, PlanJson(*report, options.command_line, DateNow()));
  return status.ok() ? 0 : Fail(status);
}

void AddPriceOptions(CLI::App& command, PlanOptions& options) {
  CLI::Option* const prices = command.add_option(
      "--prices", options.prices_path, "price file; docs/planning.md");
  CLI::Option* const device =
      command.add_option("--device", options.price.device, "of the price file")
          ->needs(prices);
  prices->needs(device);
  command.add_option("--kind", options.kind, "on_demand, reserved or spot")
      ->needs(prices)
      ->capture_default_str();
  command
      .add_option("--region", options.price.region,
                  "where the device has prices of several")
      ->needs(prices);
  command
      .add_option("--term-hours", options.price.term_hours,
                  "of a reserved price, where there are several")
      ->needs(prices);
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
  command.add_option("--power-w", request.power_w,
                     "mean power of one device at the average rate");
}

}  // namespace

void AddPlanCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App& command = *app.add_subcommand(
      "plan", "say how many replicas a result calls for, and what they cost");
  command.add_option("result", options->result_path, "JSON file of `run`")
      ->required();
  command.add_option("--label", options->label,
                     "run to plan with, where the file has several");
  AddRequestOptions(command, options->request);
  AddPriceOptions(command, *options);
  CLI::Option* const before = command.add_option(
      "--before", options->before_path, "JSON file of `run` to compare with");
  command
      .add_option("--before-label", options->before_label,
                  "its run, where it has several")
      ->needs(before);
  command.add_option("--json", options->json_path, "file for the plan");
  command.callback([options, &invocation] {
    options->command_line = invocation.command_line;
    invocation.chosen = [options] { return PrintPlan(*options); };
  });
}

}  // namespace ferry::bench
