// Implements `ferryctl mig-plan`: from measured rates of models to slices of
// devices. It prints what divides them, and runs none of it.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/report/machine.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/mig_artifacts.h"
#include "deploy/ctl/mig_plan_answer.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

struct MigFlags {
  std::string device;
  std::string models_path;
  double headroom = 0.7;
  std::vector<std::string> layout;
  std::string artifact;
  std::string price_path;  // empty: no prices
  std::string kind = "on_demand";
  std::optional<std::string> region;
  std::optional<double> term_hours;
};

absl::StatusOr<MigPrices> ReadPrices(const MigFlags& flags) {
  const auto kind = plan::ParseKind(flags.kind);
  if (!kind.ok()) {
    return kind.status();
  }
  const auto text = bench::ReadFile(flags.price_path);
  if (!text.ok()) {
    return text.status();
  }
  auto file = plan::ParseDatedPrices(*text, flags.price_path,
                                     bench::DateNow().substr(0, 10));
  if (!file.ok()) {
    return file.status();
  }
  return MigPrices{.file = *std::move(file),
                   .query = {.device = flags.device,
                             .kind = *kind,
                             .region = flags.region,
                             .term_hours = flags.term_hours}};
}

absl::StatusOr<Answer> Ask(const MigFlags& flags) {
  const auto device = plan::FindMigDevice(flags.device);
  if (!device.ok()) {
    return device.status();
  }
  const auto text = bench::ReadFile(flags.models_path);
  if (!text.ok()) {
    return text.status();
  }
  auto file = plan::ParseMigModels(*text, flags.models_path, *device);
  if (!file.ok()) {
    return file.status();
  }
  const MigQuestion question = {.device = *device,
                                .file = *std::move(file),
                                .headroom = flags.headroom,
                                .layout = flags.layout,
                                .artifact = flags.artifact};
  if (flags.price_path.empty()) {
    return MigPlanAnswer(question, std::nullopt);
  }
  auto prices = ReadPrices(flags);
  return prices.ok() ? MigPlanAnswer(question, *std::move(prices))
                     : prices.status();
}

void AddPrices(CLI::App& command, MigFlags& flags) {
  CLI::Option* const prices =
      command
          .add_option("--prices", flags.price_path,
                      "price file with the device; docs/planning.md")
          ->type_name("FILE");
  command.add_option("--kind", flags.kind, "which price")
      ->capture_default_str()
      ->check(OneOf({plan::KindName(plan::PriceKind::kOnDemand),
                     plan::KindName(plan::PriceKind::kReserved),
                     plan::KindName(plan::PriceKind::kSpot)}))
      ->needs(prices);
  command
      .add_option("--region", flags.region,
                  "where the device has prices of several")
      ->needs(prices);
  command
      .add_option("--term-hours", flags.term_hours,
                  "of a reserved price, where there are several")
      ->needs(prices);
}

}  // namespace

void AddMigPlanCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<MigFlags>();
  CLI::App& command = *app.add_subcommand(
      "mig-plan", "pack models into MIG slices, and compare");
  command
      .add_option("--device", flags->device,
                  "A100-40GB, A100-80GB, H100, H200 or B200")
      ->required();
  command
      .add_option("--models", flags->models_path,
                  "models and their measured rates; docs/planning.md")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--headroom", flags->headroom,
                  "share of each measured rate to plan with")
      ->capture_default_str()
      ->check(NumberFrom(0, 1));
  command
      .add_option("--layout", flags->layout,
                  "profiles of each device, between commas, to check in place "
                  "of choosing them")
      ->type_name("TEXT")
      ->delimiter(',');
  command
      .add_option("--print", flags->artifact,
                  "print what divides the devices, alone")
      ->check(OneOf({kMigPartedArtifact, kNvidiaSmiArtifact, kEnvArtifact,
                     kDraArtifact}));
  AddPrices(command, *flags);
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
