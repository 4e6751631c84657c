// Implements `ferryctl cost`: flags of each question, to its answer.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/plan/formulas.h"
#include "bench/plan/number_check.h"
#include "bench/plan/recording.h"
#include "deploy/ctl/allocate_answer.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/cost_answers.h"
#include "deploy/ctl/price_flags.h"
#include "deploy/ctl/recording_source.h"
#include "deploy/ctl/use_source.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

constexpr char kFocusArtifact[] = "focus";

// The flags of all questions; each has some of them.
struct CostFlags {
  PriceSource prices;
  std::string kind = "on_demand";
  PriceChoice choice;
  double used_share = 1;
  Interruption interruption;
  std::optional<double> on_hours_per_week;
  RecordingFlags recording;  // in place of that
  plan::OfflineWork work;
  ServedRate served;
  std::vector<std::string> rates;  // "DEVICE=RATE"
  UseFlags use;
  std::string artifact;
};

absl::StatusOr<std::map<std::string, double>> ParseRates(
    const std::vector<std::string>& texts) {
  std::map<std::string, double> rates;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    double rate = 0;
    if (at == std::string::npos || at == 0 ||
        !absl::SimpleAtod(text.substr(at + 1), &rate)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--rate: expected DEVICE=REQUESTS_A_SECOND, got '", text, "'"));
    }
    if (!rates.emplace(text.substr(0, at), rate).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--rate: expected each device once, got '", text, "' after another"));
    }
  }
  return rates;
}

using Flags = std::shared_ptr<CostFlags>;

// Where the questions are added, and what they are asked into.
struct Questions {
  CLI::App& cost;
  Invocation& invocation;
};

// Adds a question whose answer `ask` has from the flags.
template <typename Ask>
CLI::App& AddQuestion(const Questions& questions, const std::string& name,
                      const std::string& text, const Flags& flags, Ask ask) {
  CLI::App& question = *questions.cost.add_subcommand(name, text);
  question.callback([&invocation = questions.invocation, flags, ask] {
    invocation.ask = [flags, ask] { return ask(*flags); };
  });
  return question;
}

// The same of one that is asked with the prices of the file.
template <typename Ask>
CLI::App& AddPricedQuestion(const Questions& questions, const std::string& name,
                            const std::string& text, const Flags& flags,
                            Ask ask) {
  return AddQuestion(questions, name, text, flags,
                     [ask](const CostFlags& given) -> absl::StatusOr<Answer> {
                       const auto prices = ReadPrices(given.prices);
                       if (!prices.ok()) {
                         return prices.status();
                       }
                       return ask(*prices, given);
                     });
}

CLI::Option* AddDevice(CLI::App& question, CostFlags& flags) {
  return question.add_option("--device", flags.choice.device,
                             "of the price file");
}

// Adds what picks the rows of one device, but not what a Prometheus with the
// prices needs.
void AddPriceChoice(CLI::App& question, CostFlags& flags) {
  AddPricesFlag(question, flags.prices)->required();
  AddDevice(question, flags)->required();
  AddProviderFlag(question, flags.choice.provider);
  AddRegionFlag(question, flags.choice.region);
}

void AddChoice(CLI::App& question, CostFlags& flags) {
  AddPriceChoice(question, flags);
  AddHttpFlags(question, flags.prices.http);
}

void AddInstances(CLI::App& question, CostFlags& flags) {
  question
      .add_option("--instances", flags.choice.instances, "how many instances")
      ->capture_default_str()
      ->check(IntegerFrom(1, plan::kMaxReplicas));
}

void AddCommitment(CLI::App& question, CostFlags& flags) {
  AddChoice(question, flags);
  AddInstances(question, flags);
  AddTermFlag(question, flags.choice.term_hours);
  question
      .add_option("--used-share", flags.used_share,
                  "of the term in which the instances are needed")
      ->capture_default_str()
      ->check(NumberFrom(0, 1));
}

Commitment CommitmentOf(const CostFlags& flags) {
  return {.choice = flags.choice, .used_share = flags.used_share};
}

void AddReserved(const Questions& questions) {
  const auto flags = std::make_shared<CostFlags>();
  AddCommitment(
      AddPricedQuestion(
          questions, "reserved", "what a commitment costs, and saves", flags,
          [](const plan::DatedPrices& prices, const CostFlags& given) {
            return ReservedAnswer(prices, CommitmentOf(given));
          }),
      *flags);
}

void AddBreakEven(const Questions& questions) {
  const auto flags = std::make_shared<CostFlags>();
  AddCommitment(
      AddPricedQuestion(
          questions, "breakeven", "from how many hours on reserved is cheaper",
          flags,
          [](const plan::DatedPrices& prices, const CostFlags& given) {
            return BreakEvenAnswer(prices, CommitmentOf(given));
          }),
      *flags);
}

void AddSpot(const Questions& questions) {
  const auto flags = std::make_shared<CostFlags>();
  CLI::App& question = AddPricedQuestion(
      questions, "spot", "what devices save that may be taken back", flags,
      [](const plan::DatedPrices& prices, const CostFlags& given) {
        return SpotAnswer(prices, given.choice, given.interruption);
      });
  AddChoice(question, *flags);
  question.add_flag("--interruptible", flags->interruption.is_interruptible,
                    "the work has no SLA, and begins again where it was");
  question
      .add_option("--redone-share", flags->interruption.redone_share,
                  "of the work that interruptions lose, below 1")
      ->capture_default_str()
      ->check(NumberFrom(0, 1));
}

// The hours in which requests came are those in which devices are on.
absl::StatusOr<Answer> AskRecordedSchedule(const plan::DatedPrices& prices,
                                           const CostFlags& given) {
  const auto named = Record(given.recording);
  if (!named.ok()) {
    return named.status();
  }
  const auto hours = plan::CountHours(named->recording);
  if (!hours.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        named->source,
        ": expected requests_per_second over whole hours, in steps of 30 "
        "minutes or less, whose hours without a request are those to be off "
        "in, got another recording"));
  }
  return RecordedScheduleAnswer(prices, given.choice, *hours, named->source);
}

absl::StatusOr<Answer> AskSchedule(const CostFlags& given) {
  if (given.on_hours_per_week.has_value() == given.recording.is_given()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected one of --on-hours-per-week and a recording (--file, "
        "--duration or --from-prometheus), got ",
        given.recording.is_given() ? "both" : "none"));
  }
  const auto prices = ReadPricesBeside(given.recording, given.prices);
  if (!prices.ok()) {
    return prices.status();
  }
  return given.on_hours_per_week.has_value()
             ? ScheduleAnswer(*prices, given.choice, *given.on_hours_per_week)
             : AskRecordedSchedule(*prices, given);
}

void AddSchedule(const Questions& questions) {
  const auto flags = std::make_shared<CostFlags>();
  CLI::App& question =
      AddQuestion(questions, "schedule",
                  "what is saved by hours without devices", flags, AskSchedule);
  AddPriceChoice(question, *flags);
  AddInstances(question, *flags);
  question
      .add_option("--on-hours-per-week", flags->on_hours_per_week,
                  "hours of the week in which they are on; or a recording has "
                  "the hours in which requests came")
      ->check(NumberFrom(0, plan::kHoursPerWeek));
  AddRecordingFlags(question, flags->recording);
}

void AddOffline(const Questions& questions) {
  const auto flags = std::make_shared<CostFlags>();
  CLI::App& question = AddQuestion(
      questions, "offline", "how many devices do a day's work in its windows",
      flags, [](const CostFlags& given) -> absl::StatusOr<Answer> {
        if (given.prices.from.empty()) {
          return OfflineAnswer(given.work, std::nullopt, given.choice);
        }
        const auto prices = ReadPrices(given.prices);
        if (!prices.ok()) {
          return prices.status();
        }
        return OfflineAnswer(given.work, *prices, given.choice);
      });
  plan::OfflineWork& work = flags->work;
  question
      .add_option("--items-per-day", work.items_per_day,
                  "items that come in a day")
      ->required();
  question
      .add_option("--windows-per-day", work.windows_per_day,
                  "times a day that work is done")
      ->capture_default_str();
  question
      .add_option("--window-hours", work.window_hours,
                  "hours that each of them may take")
      ->required();
  question
      .add_option("--rate", work.rate, "items/s of one device, as measured")
      ->required();
  CLI::Option* const prices = AddPricesFlag(question, flags->prices);
  AddHttpFlags(question, flags->prices.http);
  CLI::Option* const device = AddDevice(question, *flags)->needs(prices);
  prices->needs(device);
  AddProviderFlag(question, flags->choice.provider)->needs(prices);
  AddRegionFlag(question, flags->choice.region)->needs(prices);
}

void AddPerMillion(const Questions& questions) {
  const auto flags = std::make_shared<CostFlags>();
  CLI::App& question = AddPricedQuestion(
      questions, "per-million", "what a million requests cost", flags,
      [](const plan::DatedPrices& prices,
         const CostFlags& given) -> absl::StatusOr<Answer> {
        const auto kind = plan::ParseKind(given.kind);
        if (!kind.ok()) {
          return kind.status();
        }
        return PerMillionAnswer(prices, given.choice, *kind, given.served);
      });
  AddChoice(question, *flags);
  AddInstances(question, *flags);
  AddKindFlag(question, flags->kind);
  AddTermFlag(question, flags->choice.term_hours);
  question
      .add_option("--average-rate", flags->served.average_rate,
                  "requests/s of all instances, on average")
      ->required();
  question.add_option("--lambda-max", flags->served.lambda_max,
                      "requests/s of one device within its SLO, as measured");
}

void AddRank(const Questions& questions) {
  const auto flags = std::make_shared<CostFlags>();
  CLI::App& question = AddPricedQuestion(
      questions, "rank", "which device serves a million requests for the least",
      flags,
      [](const plan::DatedPrices& prices,
         const CostFlags& given) -> absl::StatusOr<Answer> {
        const auto rates = ParseRates(given.rates);
        return rates.ok() ? RankAnswer(prices, *rates) : rates.status();
      });
  AddPricesFlag(question, flags->prices)->required();
  AddHttpFlags(question, flags->prices.http);
  question
      .add_option("--rate", flags->rates,
                  "DEVICE=requests/s of one, as measured; for each device")
      ->type_name("TEXT")
      ->required();
}

// One token and one set of root certificates are for both servers: a token is
// told to no other server than its own.
absl::StatusOr<MeasuredUse> ReadUseOf(const CostFlags& given) {
  const std::string& from =
      given.use.prometheus.empty() ? given.use.address : given.use.prometheus;
  if (absl::Status status =
          CheckTokenIsForOne(given.prices.http, from, given.prices);
      !status.ok()) {
    return status;
  }
  return ReadUse(given.use, given.prices.http);
}

void AddAllocate(const Questions& questions) {
  const auto flags = std::make_shared<CostFlags>();
  CLI::App& question = AddQuestion(
      questions, "allocate", "which model and client a device's price is for",
      flags, [](const CostFlags& given) -> absl::StatusOr<Answer> {
        const auto kind = plan::ParseKind(given.kind);
        if (!kind.ok()) {
          return kind.status();
        }
        const auto use = ReadUseOf(given);
        if (!use.ok()) {
          return use.status();
        }
        const auto prices = ReadPrices(given.prices);
        if (!prices.ok()) {
          return prices.status();
        }
        return AllocateAnswer(*use, *prices,
                              {.device = given.choice.device,
                               .kind = *kind,
                               .region = given.choice.region,
                               .term_hours = given.choice.term_hours,
                               .provider = given.choice.provider},
                              given.artifact == kFocusArtifact);
      });
  AddUseFlags(question, flags->use);
  AddChoice(question, *flags);
  AddKindFlag(question, flags->kind);
  AddTermFlag(question, flags->choice.term_hours);
  question
      .add_option("--print", flags->artifact,
                  "print the shares as comma-separated values, alone")
      ->check(OneOf({kFocusArtifact}));
}

}  // namespace

void AddCostCommand(CLI::App& app, Invocation& invocation) {
  CLI::App& cost = *app.add_subcommand("cost", "say what devices cost");
  cost.require_subcommand(1);
  const Questions questions = {.cost = cost, .invocation = invocation};
  AddReserved(questions);
  AddBreakEven(questions);
  AddSpot(questions);
  AddSchedule(questions);
  AddOffline(questions);
  AddPerMillion(questions);
  AddRank(questions);
  AddAllocate(questions);
}

}  // namespace ferry::ctl
