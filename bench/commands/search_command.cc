// `ferry-bench search`: the highest rate at which a server keeps a bound.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/measured_server.h"
#include "bench/commands/progress_line.h"
#include "bench/commands/search_flags.h"
#include "bench/commands/signal_watcher.h"
#include "bench/search/rate_search.h"

namespace ferry::bench {
namespace {

void PrintAnswer(const SearchFlags& flags, const RunResult& run,
                 const RateSearch& search, const std::optional<double>& found,
                 double seconds) {
  const std::string bound = DescribeBound(flags);
  if (!run.points.empty() && run.points.back().interrupted) {
    std::printf("stopped after %d loads\n",
                static_cast<int>(run.points.size()));
    return;
  }
  const int tries = static_cast<int>(run.points.size());
  if (found.has_value()) {
    std::printf(
        "%.0f requests/s with %s, in %d loads of which %d confirm it, in "
        "%.0f s\n",
        *found, bound.c_str(), tries, flags.confirmations, seconds);
  } else {
    std::printf("no rate was found with %s, in %d loads and %.0f s\n",
                bound.c_str(), tries, seconds);
  }
  if (search.client_ceiling() > 0) {
    std::printf(
        "this client could not send %.0f/s on time: the server may do "
        "more\n",
        search.client_ceiling());
  }
}

int Search(SearchFlags flags, const std::string& command_line) {
  if (const auto status = Complete(flags); !status.ok()) {
    return Fail(status);
  }
  const auto connected = MeasuredServer::Connect(flags.run);
  if (!connected.ok()) {
    return Fail(connected.status());
  }
  MeasuredServer& server = **connected;
  RunResult run = server.Describe(command_line);
  PrintWindows(flags);
  const auto begin = std::chrono::steady_clock::now();
  const double first_rate = FirstRate(flags, server, run);
  if (first_rate <= 0) {
    Report(flags.run, {run});
    return Fail(absl::UnavailableError(
        "no saturation was found to begin with, or it was stopped: "
        "--first-rate says where to begin"));
  }
  SteadyPacer pacer;
  RateSearch search(OptionsOf(flags, first_rate), server.target(), pacer,
                    &server.probe(), server.lanes());
  std::optional<double> found;
  {
    SignalWatcher watcher([&search] { search.Stop(); });
    ProgressLine line([&search] { return search.progress(); });
    found = search.Run(run, PrintPoint);
  }
  run.search = {.slo_ms = flags.slo_ms,
                .percentile = flags.percentile,
                .found_rate = found,
                .client_ceiling = search.client_ceiling(),
                .precision = flags.precision};
  const int code = Report(flags.run, {run});
  PrintAnswer(
      flags, run, search, found,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count());
  if (!found.has_value() || code != 0) {
    return 1;
  }
  return Judge(flags.run, Confirmations(run));
}

}  // namespace

void AddSearchCommand(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<SearchFlags>();
  CLI::App* const command = app.add_subcommand(
      "search", "find the highest rate at which a server keeps a bound");
  AddSearchFlags(*command, *flags);
  command->callback([command, flags, &invocation] {
    flags->run.flags = EffectiveFlags(*command);
    invocation.chosen = [flags, &invocation] {
      return Search(*flags, invocation.command_line);
    };
  });
}

}  // namespace ferry::bench
