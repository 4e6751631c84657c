// Implements `ferryctl capacity`: from a measured rate, a result or the days of
// several models to devices.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/capacity_answers.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/result_capacity.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

struct CapacityFlags {
  std::optional<double> device_rate;  // requests/s of one within the SLO
  MeasuredResult result;
  std::string models_path;
  plan::CapacityInput input;
};

absl::StatusOr<Answer> AskOfModels(const CapacityFlags& flags) {
  const auto text = bench::ReadFile(flags.models_path);
  if (!text.ok()) {
    return text.status();
  }
  const auto models = plan::ParseModelDays(*text, flags.models_path);
  return models.ok() ? SharedCapacityAnswer(*models, flags.input.headroom,
                                            flags.input.spares)
                     : models.status();
}

absl::StatusOr<Answer> Ask(const CapacityFlags& flags) {
  const int ways = (flags.device_rate.has_value() ? 1 : 0) +
                   (flags.result.path.empty() ? 0 : 1) +
                   (flags.models_path.empty() ? 0 : 1);
  if (ways != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "capacity: expected one of --result, --device-rate and --models, got ",
        ways));
  }
  if (!flags.models_path.empty()) {
    return AskOfModels(flags);
  }
  if (flags.input.peak_rate == 0) {
    return absl::InvalidArgumentError(
        "--peak-rate: expected the requests/s to plan for, got none");
  }
  if (!flags.result.path.empty()) {
    return ResultCapacityAnswer(flags.result, flags.input);
  }
  plan::CapacityInput input = flags.input;
  input.lambda_max = *flags.device_rate;
  return CapacityAnswer(input, "given");
}

}  // namespace

void AddCapacityCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<CapacityFlags>();
  CLI::App& command = *app.add_subcommand(
      "capacity", "say how many devices carry a load within an SLO");
  CLI::Option* const result =
      command
          .add_option("--result", flags->result.path,
                      "JSON file of `ferry-bench run`, of one device")
          ->type_name("FILE");
  command
      .add_option("--label", flags->result.label,
                  "run of the result, where it has several")
      ->needs(result);
  CLI::Option* const slo =
      command
          .add_option("--slo-p99-ms", flags->result.slo_p99_ms,
                      "p99 that a device must keep")
          ->needs(result);
  result->needs(slo);
  command.add_option("--device-rate", flags->device_rate,
                     "requests/s of one device within the SLO, as measured");
  command
      .add_option("--models", flags->models_path,
                  "several models and their peaks of each hour; "
                  "docs/planning.md")
      ->type_name("FILE");
  command.add_option("--peak-rate", flags->input.peak_rate,
                     "requests/s of all devices to plan for");
  command
      .add_option("--headroom", flags->input.headroom,
                  "share of the measured rate to plan with")
      ->capture_default_str();
  command
      .add_option("--spares", flags->input.spares,
                  "devices beyond those that the peak needs")
      ->capture_default_str()
      ->check(IntegerFrom(0, plan::kMaxReplicas));
  command
      .add_option("--lost-share", flags->input.lost_share,
                  "share of the devices that may go at once")
      ->capture_default_str();
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
