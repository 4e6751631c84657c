// Implements `ferry-bench tune`: finds the runtime options with which a running
// Ferry carries the highest rate within a bound.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/printable_text.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/interruption.h"
#include "bench/commands/measured_server.h"
#include "bench/commands/progress_line.h"
#include "bench/commands/runtime_flags.h"
#include "bench/commands/search_flags.h"
#include "bench/commands/shared_load.h"
#include "bench/commands/signal_watcher.h"
#include "bench/search/rate_search.h"
#include "bench/search/runtime_options_client.h"
#include "bench/search/search_turns.h"
#include "bench/search/tuner.h"

namespace ferry::bench {
namespace {

constexpr double kCoarse = 0.03;          // precision of what is not confirmed
constexpr double kConfirmedGrowth = 1.1;  // about a rate that is nearly known

struct TuneFlags {
  SearchFlags search;
  RuntimeChoices choices;
};

TunePrecision PrecisionOf(const SearchFlags& flags) {
  return {.coarse = std::max(kCoarse, flags.precision),
          .confirmed = flags.precision};
}

// One server, tuned; a run for each setting.
class Tune {
 public:
  Tune(const TuneFlags& flags, MeasuredServer& server,
       RuntimeOptionsClient& runtime_options, const Invocation& invocation)
      : flags_(flags),
        server_(server),
        runtime_options_(runtime_options),
        invocation_(invocation),
        searched_(SearchedAt(server, flags.search, invocation)) {}

  // `own`: the server's setting, which is tried first.
  absl::Status Run(const RuntimeSetting& own, TuneResult& result) {
    std::vector<RuntimeSetting> settings = {own};
    for (const RuntimeSetting& setting : GridOf(flags_.choices)) {
      if (Describe(setting) != Describe(own)) {
        settings.push_back(setting);
      }
    }
    Tuner tuner(
        PrecisionOf(flags_.search),
        [this](const RuntimeSetting& setting) { return Turn(setting); },
        [this](Tuner::Search search, double first_rate) {
          return Measure(search, first_rate);
        },
        [this](std::vector<TunedSetting>& finalists) {
          return Confirm(finalists);
        },
        [this] { return is_stopped_.load(); });
    settings_ = settings.size();
    untried_ = static_cast<int32_t>(settings.size());
    absl::Status status = tuner.Run(settings, result);
    status.Update(status_);
    return status;
  }

  const std::vector<RunResult>& runs() const { return runs_; }

  // Whether a signal, or an error, ended it before its time.
  bool is_stopped() const { return is_stopped_; }
  size_t settings() const { return settings_; }  // to be tried

  // REQUIRES: the setting was tried.
  const RunResult& RunOf(const RuntimeSetting& setting) const {
    return runs_[IndexOf(setting)];
  }

 private:
  absl::Status Turn(const RuntimeSetting& setting) {
    std::fprintf(stderr, "race, setting %zu of %zu: %s\n", runs_.size() + 1,
                 settings_, PrintableText(Describe(setting)).c_str());
    --untried_;
    runs_.push_back(server_.Describe(invocation_.command_line));
    runs_.back().label = Describe(setting);
    runs_.back().runtime_options = setting;
    runs_.back().max_batch_size = setting.max_batch_size;
    return runtime_options_.Set(setting);
  }

  size_t IndexOf(const RuntimeSetting& setting) const {
    const auto found = std::find_if(
        runs_.begin(), runs_.end(),
        [&](const RunResult& run) { return run.runtime_options == setting; });
    return static_cast<size_t>(found - runs_.begin());
  }

  RateSearchOptions OptionsToConfirm(double first_rate) const {
    RateSearchOptions options = OptionsOf(flags_.search, first_rate);
    options.search.growth = kConfirmedGrowth;
    return options;
  }

  RateSearchOptions OptionsOfRace(double first_rate) const {
    RateSearchOptions options = OptionsOf(flags_.search, first_rate);
    options.search.precision = PrecisionOf(flags_.search).coarse;
    options.search.confirmations = 1;
    return options;
  }

  // About how long the tune takes after the setting that is tried now: most of
  // the others miss, twice, at the first rate, and two are confirmed.
  Duration AfterThisSetting() const {
    const RateSearchOptions race = OptionsOfRace(1);
    return (race.warm_up + race.measured) * (2 * untried_.load()) +
           UsualTime(OptionsToConfirm(1)) * 2;
  }

  // Appends to the runs of the race, whose searches these replace.
  absl::Status Confirm(std::vector<TunedSetting>& settings) {
    const auto loads = searched_.make_loads();
    if (!loads.ok()) {
      return loads.status();
    }
    std::vector<std::unique_ptr<RateSearch>> searches;
    std::vector<TurnOfSearch> turns;
    std::fprintf(stderr,
                 settings.size() > 1
                     ? "confirmation of the best and the server's own, a load "
                       "of each in turn\n"
                     : "confirmation of the server's own, which none beat\n");
    for (const TunedSetting& tuned : settings) {
      searches.push_back(std::make_unique<RateSearch>(
          OptionsToConfirm(*tuned.rate), **loads, pacer_, searched_.counters,
          searched_.instances));
      turns.push_back({.begin =
                           [this, setting = tuned.setting] {
                             std::fprintf(
                                 stderr, "confirmation: %s\n",
                                 PrintableText(Describe(setting)).c_str());
                             return runtime_options_.Set(setting);
                           },
                       .search = searches.back().get(),
                       .run = &runs_[IndexOf(tuned.setting)]});
    }
    absl::Status status;
    {
      SignalWatcher watcher([&] {
        is_stopped_ = true;
        for (const auto& search : searches) {
          search->Stop();
        }
      });
      ProgressLine line([&] { return (*loads)->progress(); },
                        [&] {
                          Duration later(0);
                          for (const auto& search : searches) {
                            later += search->later();
                          }
                          return later;
                        });
      status = SearchInTurns(turns, PrintPoint);
    }
    for (size_t i = 0; i < settings.size(); ++i) {
      settings[i].rate = searches[i]->found();
      Note(*searches[i], PrecisionOf(flags_.search).confirmed, *turns[i].run);
    }
    return status;
  }

  void Note(const RateSearch& search, double precision, RunResult& run) const {
    run.search = SummaryOf(flags_.search);
    run.search->found_rate = search.found();
    run.search->client_ceiling = search.client_ceiling();
    run.search->precision = precision;
  }

  std::optional<double> Measure(Tuner::Search search, double first_rate) {
    RunResult& run = runs_.back();
    if (first_rate == 0) {
      const auto first = FirstRate(
          flags_.search, searched_,
          [this] { return UsualTime(OptionsOfRace(1)) + AfterThisSetting(); },
          run);
      if (!first.ok()) {
        // It says what a signal cut short, too, which is no error.
        return Stop(EndsCutShort(run) ? absl::OkStatus() : first.status());
      }
      first_rate = *first;
    }
    const auto loads = searched_.make_loads();
    if (!loads.ok()) {
      return Stop(loads.status());
    }
    RateSearchOptions options = OptionsOfRace(first_rate);
    options.only_above = search == Tuner::Search::kOnlyAbove;
    RateSearch rates(options, **loads, pacer_, searched_.counters,
                     searched_.instances);
    std::optional<double> found;
    {
      SignalWatcher watcher([&] {
        is_stopped_ = true;
        rates.Stop();
      });
      ProgressLine line(
          [&rates] { return rates.progress(); },
          [this, &rates] { return rates.later() + AfterThisSetting(); });
      found = rates.Run(run, PrintPoint);
    }
    Note(rates, options.search.precision, run);
    return rates.status().ok() ? found : Stop(rates.status());
  }

  // Ends the tune. Returns that no rate was found.
  std::optional<double> Stop(const absl::Status& why) {
    status_ = why;
    is_stopped_ = true;
    return std::nullopt;
  }

  const TuneFlags& flags_;
  MeasuredServer& server_;
  RuntimeOptionsClient& runtime_options_;
  const Invocation& invocation_;
  const Searched searched_;
  SteadyPacer pacer_;
  absl::Status status_;  // what ended it before its time
  size_t settings_ = 0;
  std::atomic<int32_t> untried_{0};  // of them
  std::vector<RunResult> runs_;
  std::atomic<bool> is_stopped_{false};
};

std::string DescribeRate(const TunedSetting& tried) {
  if (tried.rate.has_value()) {
    return absl::StrFormat("%.0f", *tried.rate);
  }
  return tried.above > 0 ? absl::StrFormat("less than %.0f", tried.above)
                         : "none found";
}

// The race finds the best; its rates are coarser than what is confirmed.
void PrintTried(const TuneResult& result, const TunePrecision& precision) {
  std::printf("\nrace, each setting to %g %%:\n%-28s  %s\n",
              precision.coarse * 100, "setting", "requests/s");
  for (const TunedSetting& tried : result.tried) {
    std::printf("%-28s  %s\n", PrintableText(Describe(tried.setting)).c_str(),
                DescribeRate(tried).c_str());
  }
}

int PrintAnswer(const TuneFlags& flags, const TuneResult& result) {
  const std::string bound = DescribeBound(flags.search);
  if (result.tried.empty() || !result.best.has_value()) {
    std::printf("no setting was found with %s\n", bound.c_str());
    return 1;
  }
  std::printf(
      "\nconfirmed: %s\n",
      PrintableText(DescribeAnswer(result, PrecisionOf(flags.search), bound))
          .c_str());
  std::printf("The server is as it was. For its config.pbtxt:\n\n%s",
              ConfigOf(result.best->setting).c_str());
  return 0;
}

int Run(TuneFlags flags, const Invocation& invocation) {
  if (const auto status = Complete(flags.search); !status.ok()) {
    return Fail(status);
  }
  if (flags.search.run.as_process >= 0) {
    // One of those that --processes starts.
    return ShareLoads(flags.search.run);
  }
  const auto connected = MeasuredServer::Connect(flags.search.run);
  if (!connected.ok()) {
    return Fail(connected.status());
  }
  PrintWindows(flags.search);
  RuntimeOptionsClient runtime_options(flags.search.run.address,
                                       flags.search.run.model,
                                       flags.search.run.target.connection);
  const auto own = runtime_options.Get();
  if (!own.ok()) {
    return Fail(own.status());
  }
  std::fprintf(stderr, "as it is: %s, %g ms\n",
               PrintableText(Describe(*own)).c_str(), own->max_wait_ms);
  flags.choices =
      Completed(flags.choices, own->max_batch_size, flags.search.slo_ms);
  Tune tune(flags, **connected, runtime_options, invocation);
  TuneResult result;
  const absl::Status tuned = tune.Run(*own, result);
  const absl::Status restored = Restore(runtime_options, *own);
  const int code = Report(flags.search.run, tune.runs());
  PrintTried(result, PrecisionOf(flags.search));
  for (const RunResult& run : tune.runs()) {
    PrintCeiling(run);
  }
  for (const absl::Status& status : {tuned, restored}) {
    if (!status.ok()) {
      return Fail(status);
    }
  }
  if (tune.is_stopped() && !result.best.has_value()) {
    return TellInterruption(absl::StrFormat(
        "stopped after %d of %d settings: none was chosen with %s",
        result.tried.size(), tune.settings(), DescribeBound(flags.search)));
  }
  const int answered = PrintAnswer(flags, result);
  if (answered != 0 || code != 0) {
    return 1;
  }
  return Judge(flags.search.run,
               Confirmations(tune.RunOf(result.best->setting)));
}

}  // namespace

void AddTuneCommand(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* const command =
      app.add_subcommand("tune",
                         "find the runtime options with which a running "
                         "ferry-server --admin-rpc carries "
                         "the highest rate within a bound");
  AddSearchFlags(*command, flags->search);
  AddRuntimeFlags(*command,
                  {"all of them", "the server's, a half and a quarter of it",
                   "a fiftieth, a tenth and a quarter of --slo-ms"},
                  flags->choices);
  command->callback([command, flags, &invocation] {
    flags->search.run.flags = EffectiveFlags(*command);
    invocation.chosen = [flags, &invocation] {
      return Run(*flags, invocation);
    };
  });
}

}  // namespace ferry::bench
