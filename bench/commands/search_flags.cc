// Flags to options; where a search begins.
#include "bench/commands/search_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/commands/command_report.h"
#include "bench/commands/progress_line.h"
#include "bench/commands/signal_watcher.h"
#include "bench/search/sweep.h"

namespace ferry::bench {
namespace {

constexpr double kShareOfSaturation = 0.5;

}  // namespace

absl::Status Complete(SearchFlags& flags) {
  auto completed = CompleteRunOptions(flags.run);
  if (!completed.ok()) {
    return completed.status();
  }
  flags.run = *std::move(completed);
  for (const RequestClass& one : flags.run.classes) {
    if (one.cancel_share > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--class: expected none that is cancelled where a bound is searched "
          "for, got '",
          one.name, "'"));
    }
  }
  return absl::OkStatus();
}

RunResult Confirmations(const SearchFlags& flags, const RunResult& run) {
  RunResult confirmed = run;
  const auto count = static_cast<size_t>(flags.confirmations);
  if (confirmed.points.size() > count) {
    confirmed.points.erase(confirmed.points.begin(),
                           confirmed.points.end() - flags.confirmations);
  }
  return confirmed;
}

RateSearchOptions OptionsOf(const SearchFlags& flags, double first_rate) {
  RateSearchOptions options;
  options.slo = {flags.percentile / 100, Milliseconds(flags.slo_ms)};
  options.search = {.first_rate = first_rate,
                    .precision = flags.precision,
                    .confirmations = flags.confirmations};
  options.arrivals = flags.run.sweep.arrivals;
  options.warm_up = flags.run.sweep.warm_up;
  options.measured = flags.run.sweep.measured;
  options.max_outstanding = flags.run.sweep.max_outstanding;
  options.seed = flags.run.sweep.seed;
  return options;
}

double FirstRate(const SearchFlags& flags, MeasuredServer& server,
                 RunResult& run) {
  if (flags.first_rate > 0) {
    return flags.first_rate;
  }
  SweepOptions closed = flags.run.sweep;
  closed.outstanding = {closed.saturation_outstanding};
  closed.rates.clear();
  closed.loads.clear();
  Sweep sweep(closed, server.target(), &server.probe(), server.lanes());
  SignalWatcher watcher([&sweep] { sweep.Stop(); });
  ProgressLine line([&sweep] { return sweep.progress(); });
  const absl::Status swept =
      sweep.Run(run, [](const PointResult& point) { PrintPoint(point); });
  const bool is_whole =
      swept.ok() && !run.points.empty() && !run.points.back().interrupted;
  return is_whole ? kShareOfSaturation * run.saturation_rate : 0;
}

std::string DescribeBound(const SearchFlags& flags) {
  return absl::StrFormat("p%g <= %g ms", flags.percentile, flags.slo_ms);
}

void AddSearchFlags(CLI::App& command, SearchFlags& flags) {
  AddServerFlags(command, flags.run);
  AddRequestFlags(command, flags.run);
  AddWindowFlags(command, flags.run);
  AddReportFlags(command, flags.run);
  command
      .add_option("--slo-ms", flags.slo_ms,
                  "latency from the planned send that the percentile keeps")
      ->required()
      ->check(CLI::Range(1e-3, 1e9));
  command
      .add_option("--percentile", flags.percentile,
                  "share of all requests that keep it, in percent; a request "
                  "that fails does not")
      ->check(CLI::Range(1.0, 99.99))
      ->capture_default_str();
  command
      .add_option("--precision", flags.precision,
                  "of the rate: how far apart a rate that met and one that "
                  "missed may be in the end")
      ->check(CLI::Range(1e-3, 0.5))
      ->capture_default_str();
  command
      .add_option("--confirmations", flags.confirmations,
                  "runs of one rate, of the whole --duration-secs, that must "
                  "meet it together")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command
      .add_option("--first-rate", flags.first_rate,
                  "requests/s to try first; 0: half of the saturation")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
}

}  // namespace ferry::bench
