// Implements `ferryctl advise`: from a recording, and what else is known, to
// one page of what to change.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/replaced_file.h"
#include "bench/plan/formulas.h"
#include "bench/plan/number_check.h"
#include "bench/report/machine.h"
#include "bench/report/writable_file.h"
#include "deploy/ctl/advise_answer.h"
#include "deploy/ctl/answer_files.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/cost_answers.h"
#include "deploy/ctl/diagnose_answer.h"
#include "deploy/ctl/mig_plan_answer.h"
#include "deploy/ctl/price_flags.h"
#include "deploy/ctl/profile_answer.h"
#include "deploy/ctl/recording_source.h"
#include "deploy/ctl/result_capacity.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

struct AdviseFlags {
  RecordingFlags recording;
  ProfileQuestion profile;
  MeasuredResult result;
  plan::CapacityInput capacity;
  int64_t devices_now = 1;
  std::string mig_device;
  std::string models_path;
  PriceSource prices;
  PriceChoice price;
  std::string html_path;
  std::string note_path;
};

absl::Status NotAsked(const std::string& flag) {
  return absl::NotFoundError(absl::StrCat("expected ", flag, ", got none"));
}

// Returns the peak rate to plan for: that of the flag, else what one server had
// at its highest, as many times as there are devices.
std::optional<double> PeakRate(const AdviseFlags& flags,
                               const plan::Recording& recording) {
  if (flags.capacity.peak_rate > 0) {
    return flags.capacity.peak_rate;
  }
  const auto rate =
      plan::Summarize(recording.requests_per_second, "requests_per_second");
  if (!rate.ok() || rate->peak == 0) {
    return std::nullopt;
  }
  return rate->peak * static_cast<double>(flags.devices_now);
}

absl::StatusOr<Answer> Size(const AdviseFlags& flags,
                            const std::optional<double>& peak_rate) {
  if (flags.result.path.empty()) {
    return NotAsked(
        "--result, of ferry-bench, which says what one device "
        "carries");
  }
  if (!peak_rate.has_value()) {
    return NotAsked("--peak-rate, or a recording with requests_per_second");
  }
  plan::CapacityInput input = flags.capacity;
  input.peak_rate = *peak_rate;
  auto answer = ResultCapacityAnswer(flags.result, input);
  const auto device = MeasuredDevice(flags.result);
  if (answer.ok() && device.ok()) {
    if (const auto note = OfAnotherDevice(*device, flags.price.device)) {
      answer->findings.push_back(*note);
    }
  }
  return answer;
}

absl::StatusOr<Answer> Share(const AdviseFlags& flags) {
  if (flags.models_path.empty()) {
    return NotAsked("--models, with the rates of several models on slices");
  }
  auto question = ReadMigQuestion(flags.mig_device, flags.models_path);
  if (!question.ok()) {
    return question.status();
  }
  question->headroom = flags.capacity.headroom;
  return MigPlanAnswer(*question, std::nullopt);
}

absl::StatusOr<plan::PriceRow> OnDemand(const AdviseFlags& flags,
                                        const plan::DatedPrices& prices) {
  return plan::FindPrice(prices.file, {.device = flags.price.device,
                                       .region = flags.price.region,
                                       .provider = flags.price.provider});
}

absl::StatusOr<Answer> Commit(const AdviseFlags& flags,
                              const plan::Recording& recording,
                              const absl::StatusOr<plan::DatedPrices>& prices,
                              int64_t devices) {
  if (!prices.ok()) {
    return prices.status();
  }
  Commitment commitment = {.choice = flags.price};
  const auto hours = plan::CountHours(recording);
  if (hours.has_value()) {
    commitment.used_share = (hours->all - hours->idle) / hours->all;
  }
  if (commitment.used_share == 0) {
    return absl::FailedPreconditionError(
        "no hour of the recording has a request: there is nothing to commit "
        "to");
  }
  const auto row = OnDemand(flags, *prices);
  if (!row.ok()) {
    return row.status();
  }
  commitment.choice.instances = InstancesOf(devices, *row);
  auto answer = ReservedAnswer(*prices, commitment);
  if (answer.ok()) {
    answer->findings.push_back(
        {Severity::kNote, "the_peak_is_committed_to",
         "these are all devices of the peak, in the hours in which any request "
         "came: commit to fewer where the quietest week needs fewer"});
  }
  if (answer.ok() && !hours.has_value()) {
    answer->findings.push_back({Severity::kWarning, "hours_not_known",
                                "which hours have no request is not known of "
                                "this recording: all are taken for used"});
  }
  return answer;
}

absl::StatusOr<plan::DatedPrices> PricesOf(const AdviseFlags& flags) {
  if (flags.prices.from.empty()) {
    return NotAsked("--prices and --device, which say what a device costs");
  }
  return ReadPricesBeside(flags.recording, flags.prices);
}

std::optional<double> NumberOf(const absl::StatusOr<Answer>& answer,
                               const plan::Formula& formula) {
  if (!answer.ok()) {
    return std::nullopt;
  }
  for (const plan::Number& number : answer->numbers) {
    if (std::string(number.formula.name) == formula.name) {
      return number.value;
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<Change>> ChangeOf(
    const AdviseFlags& flags, const absl::StatusOr<Answer>& size,
    const std::optional<double>& peak_rate,
    const absl::StatusOr<plan::DatedPrices>& prices) {
  const auto devices = NumberOf(size, plan::kReplicas);
  if (!devices.has_value()) {
    return std::nullopt;
  }
  Change change = {.devices_now = flags.devices_now,
                   .devices_needed = static_cast<int64_t>(*devices)};
  if (prices.ok()) {
    const auto row = OnDemand(flags, *prices);
    if (!row.ok()) {
      return row.status();
    }
    change.price = *row;
  }
  const auto p99 = MeasuredP99(flags.result, *peak_rate / *devices);
  if (!p99.ok()) {
    return p99.status();
  }
  change.p99_ms = *p99;
  return change;
}

absl::Status WriteFile(const std::string& flag, const std::string& path,
                       const std::string& text) {
  const absl::Status status =
      path.empty() ? absl::OkStatus() : ReplaceFile(path, text);
  return status.ok() ? status
                     : absl::InvalidArgumentError(
                           absl::StrCat(flag, ": ", status.message()));
}

absl::Status WriteFiles(const AdviseFlags& flags, const Answer& answer) {
  const std::string date = bench::DateNow();
  absl::Status status =
      WriteFile("--html", flags.html_path, AnswerPage(answer, date));
  status.Update(
      WriteFile("--record", flags.note_path, AnswerNote(answer, date)));
  return status;
}

absl::StatusOr<Answer> Ask(const AdviseFlags& flags) {
  const auto prices = PricesOf(flags);
  if (!flags.prices.from.empty() && !prices.ok()) {
    return prices.status();
  }
  const auto named = Record(flags.recording);
  if (!named.ok()) {
    return named.status();
  }
  const plan::Recording& recording = named->recording;
  const auto peak_rate = PeakRate(flags, recording);
  ProfileQuestion profile = flags.profile;
  profile.source = named->source;
  const auto size = Size(flags, peak_rate);
  const auto change = ChangeOf(flags, size, peak_rate, prices);
  if (!change.ok()) {
    return change.status();
  }
  const int64_t devices =
      change->has_value() ? (*change)->devices_needed : flags.devices_now;
  const Advice advice = {
      .steps = {{kMeasureStep, ProfileAnswer(recording, profile)},
                {kReasonStep, DiagnoseAnswer(recording, named->source)},
                {kSizeStep, size},
                {kShareStep, Share(flags)},
                {kCommitStep, Commit(flags, recording, prices, devices)}},
      .change = *change,
      .currency = prices.ok() ? prices->file.currency : ""};
  Answer answer = AdviseAnswer(advice);
  if (change->has_value() && (*change)->price.has_value() &&
      !advice.steps.back().answer.ok()) {  // which has named no price
    NamePrices(*prices, {{"price", *(*change)->price}}, answer);
  }
  if (absl::Status status = WriteFiles(flags, answer); !status.ok()) {
    return status;
  }
  return answer;
}

void AddSizeFlags(CLI::App& command, AdviseFlags& flags) {
  CLI::Option* const result =
      command
          .add_option("--result", flags.result.path,
                      "JSON file of `ferry-bench run`, of one device")
          ->type_name("FILE");
  command
      .add_option("--result-label", flags.result.label,
                  "run of the result, where it has several")
      ->needs(result);
  CLI::Option* const slo =
      command
          .add_option("--slo-p99-ms", flags.result.slo_p99_ms,
                      "p99 that a device must keep")
          ->needs(result);
  result->needs(slo);
  command.add_option("--peak-rate", flags.capacity.peak_rate,
                     "requests/s of all devices to plan for; default: the "
                     "recording's peak, for each of --devices-now");
  command
      .add_option("--devices-now", flags.devices_now,
                  "devices that there are, each loaded as the recorded one")
      ->capture_default_str()
      ->check(IntegerFrom(1, plan::kMaxReplicas));
  command
      .add_option("--headroom", flags.capacity.headroom,
                  "share of a measured rate to plan with")
      ->capture_default_str();
  command
      .add_option("--spares", flags.capacity.spares,
                  "devices beyond those that the peak needs")
      ->capture_default_str()
      ->check(IntegerFrom(0, plan::kMaxReplicas));
}

void AddMoneyFlags(CLI::App& command, AdviseFlags& flags) {
  CLI::Option* const models =
      command
          .add_option("--models", flags.models_path,
                      "models and their rates on slices; docs/planning.md")
          ->type_name("FILE");
  CLI::Option* const mig = command.add_option("--mig-device", flags.mig_device,
                                              "as of ferryctl mig-plan");
  models->needs(mig);
  mig->needs(models);
  CLI::Option* const prices = AddPricesFlag(command, flags.prices);
  CLI::Option* const device =
      command.add_option("--device", flags.price.device, "of the price file");
  prices->needs(device);
  device->needs(prices);
  AddProviderFlag(command, flags.price.provider)->needs(prices);
  AddRegionFlag(command, flags.price.region)->needs(prices);
  AddTermFlag(command, flags.price.term_hours)->needs(prices);
}

}  // namespace

void AddAdviseCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<AdviseFlags>();
  CLI::App& command = *app.add_subcommand(
      "advise", "say on one page what to change, and what it saves");
  AddRecordingFlags(command, flags->recording);
  std::vector<std::string> names;
  for (const plan::Policy& policy : plan::Policies()) {
    names.emplace_back(policy.name);
  }
  command.add_option("--policy", flags->profile.policy, "whose bands judge it")
      ->capture_default_str()
      ->check(OneOf(names));
  AddSizeFlags(command, *flags);
  AddMoneyFlags(command, *flags);
  bench::AddResultFile(command, "--html", flags->html_path,
                       "file for the page");
  bench::AddResultFile(command, "--record", flags->note_path,
                       "file for a note of the decision, in Markdown");
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
