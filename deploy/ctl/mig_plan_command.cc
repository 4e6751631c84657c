// Implements `ferryctl mig-plan`: from measured rates of models to slices of
// devices. It prints what divides them, and runs none of it.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deploy/ctl/commands.h"
#include "deploy/ctl/mig_artifacts.h"
#include "deploy/ctl/mig_plan_answer.h"
#include "deploy/ctl/price_flags.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

struct MigFlags {
  std::string device;
  std::string models_path;
  double headroom = 0.7;
  std::vector<std::string> layout;
  std::string artifact;
  PriceSource prices;
  std::string kind = "on_demand";
  std::optional<std::string> provider;
  std::optional<std::string> region;
  std::optional<double> term_hours;
};

absl::StatusOr<MigPrices> PickPrices(const MigFlags& flags) {
  const auto kind = plan::ParseKind(flags.kind);
  if (!kind.ok()) {
    return kind.status();
  }
  auto file = ReadPrices(flags.prices);
  if (!file.ok()) {
    return file.status();
  }
  return MigPrices{.file = *std::move(file),
                   .query = {.device = flags.device,
                             .kind = *kind,
                             .region = flags.region,
                             .term_hours = flags.term_hours,
                             .provider = flags.provider}};
}

absl::StatusOr<Answer> Ask(const MigFlags& flags) {
  auto question = ReadMigQuestion(flags.device, flags.models_path);
  if (!question.ok()) {
    return question.status();
  }
  question->headroom = flags.headroom;
  question->layout = flags.layout;
  question->artifact = flags.artifact;
  if (flags.prices.from.empty()) {
    return MigPlanAnswer(*question, std::nullopt);
  }
  auto prices = PickPrices(flags);
  return prices.ok() ? MigPlanAnswer(*question, *std::move(prices))
                     : prices.status();
}

void AddPrices(CLI::App& command, MigFlags& flags) {
  CLI::Option* const prices = AddPricesFlag(command, flags.prices);
  AddHttpFlags(command, flags.prices.http);
  AddKindFlag(command, flags.kind)->needs(prices);
  AddProviderFlag(command, flags.provider)->needs(prices);
  AddRegionFlag(command, flags.region)->needs(prices);
  AddTermFlag(command, flags.term_hours)->needs(prices);
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
