// Implements ReportLoads() and ReportSearch(), with signals and progress.
#include "bench/commands/measured_loads.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "bench/commands/command_report.h"
#include "bench/commands/interruption.h"
#include "bench/commands/progress_line.h"
#include "bench/commands/signal_watcher.h"
#include "bench/report/goodput.h"
#include "bench/report/point_rules.h"
#include "bench/search/rate_search.h"

namespace ferry::bench {
namespace {

void PrintAnswer(const SearchFlags& flags, const RunResult& run,
                 const std::optional<double>& found, double seconds) {
  const std::string bound = DescribeBound(flags);
  const int tries = static_cast<int>(run.points.size());
  if (found.has_value()) {
    std::printf(
        "%.0f requests/s with %s, in %d loads of which %d confirm it, in "
        "%.0f s\n",
        *found, bound.c_str(), tries, flags.confirmations, seconds);
  } else if (const auto unconfirmed = UnconfirmedRate(run)) {
    std::printf(
        "%.0f requests/s kept %s in a try, but no rate was confirmed, in %d "
        "loads and %.0f s: measure again, for longer or on a machine with less "
        "to do\n",
        *unconfirmed, bound.c_str(), tries, seconds);
  } else {
    std::printf("no rate was found with %s, in %d loads and %.0f s\n",
                bound.c_str(), tries, seconds);
  }
  PrintCeiling(run);
}

// Reports what was measured of a search that a signal ended. Returns the exit
// code.
int TellStopped(const SearchFlags& flags, const RunResult& run) {
  Report(flags.run, {run});
  return TellInterruption(absl::StrFormat(
      "stopped after %d %s: no rate was found with %s", run.points.size(),
      run.points.size() == 1 ? "load" : "loads", DescribeBound(flags)));
}

}  // namespace

int ReportLoads(const RunOptions& options, Sweep& sweep, RunResult run) {
  std::atomic<bool> is_stopped{false};
  absl::Status swept;
  {
    SignalWatcher watcher([&] {
      is_stopped = true;
      sweep.Stop();
    });
    ProgressLine line([&sweep] { return sweep.progress(); });
    swept = sweep.Run(run, PrintPoint);
  }
  if (options.slo_ms > 0) {
    SetGoodput(options.slo_ms, run);
  }
  if (!swept.ok()) {
    return FailAfter(options, run, swept);
  }
  const int reported = Report(options, {run});
  const int judged = Judge(options, run);
  const int interrupted = TellInterruption(
      is_stopped ? DescribeInterruption(CountLoads(options.sweep), {run}) : "");
  return reported != 0 ? reported : judged != 0 ? judged : interrupted;
}

int ReportSearch(const SearchFlags& flags, const Searched& searched,
                 RunResult run) {
  PrintWindows(flags);
  const auto begin = std::chrono::steady_clock::now();
  const auto first_rate = FirstRate(
      flags, searched, [&flags] { return UsualTime(OptionsOf(flags, 1)); },
      run);
  if (EndsCutShort(run)) {
    return TellStopped(flags, run);
  }
  if (!first_rate.ok()) {
    return FailAfter(flags.run, run, first_rate.status());
  }
  const auto loads = searched.make_loads();
  if (!loads.ok()) {
    return FailAfter(flags.run, run, loads.status());
  }
  SteadyPacer pacer;
  RateSearch search(OptionsOf(flags, *first_rate), **loads, pacer,
                    searched.counters, searched.instances);
  std::optional<double> found;
  {
    SignalWatcher watcher([&search] { search.Stop(); });
    ProgressLine line([&search] { return search.progress(); },
                      [&search] { return search.later(); });
    found = search.Run(run, PrintPoint);
  }
  if (!search.status().ok()) {
    return FailAfter(flags.run, run, search.status());
  }
  run.search = SummaryOf(flags);
  run.search->found_rate = found;
  run.search->client_ceiling = search.client_ceiling();
  if (search.is_stopped()) {
    return TellStopped(flags, run);
  }
  const int code = Report(flags.run, {run});
  PrintAnswer(
      flags, run, found,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count());
  if (code != 0) {
    return code;
  }
  if (!found.has_value()) {  // a gate does not pass on what is not known
    return UnconfirmedRate(run).has_value() && flags.run.conditions.empty() ? 0
                                                                            : 1;
  }
  return Judge(flags.run, Confirmations(run));
}

}  // namespace ferry::bench
