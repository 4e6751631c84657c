// Implements SearchFlags: flags to options, and where a search begins.
#include "bench/commands/search_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/commands/command_report.h"
#include "bench/commands/shared_load.h"
#include "bench/commands/signal_watcher.h"
#include "bench/report/goodput.h"
#include "bench/report/point_rules.h"
#include "bench/report/report_table.h"
#include "bench/search/sweep.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

constexpr double kShareOfSaturation = 0.5;

Slo SloOf(const SearchFlags& flags) {
  return {.quantile = flags.percentile / 100,
          .latency = Milliseconds(flags.slo_ms),
          .success = flags.success / 100};
}

}  // namespace

absl::Status Complete(SearchFlags& flags) {
  flags.run.slo_ms = flags.slo_ms;
  flags.run.has_duration = true;  // that of a search does not follow a trace
  auto completed = CompleteRunOptions(flags.run);
  if (!completed.ok()) {
    return completed.status();
  }
  flags.run = *std::move(completed);
  if (flags.success > 0 && flags.success < flags.percentile) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--success: expected at least the %g of --percentile, of which a "
        "request that fails is none, got %g",
        flags.percentile, flags.success));
  }
  for (const RequestClass& one : flags.run.classes) {
    if (one.cancel_share > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--class: expected none that is cancelled where a bound is searched "
          "for, got '",
          one.name, "'"));
    }
  }
  if (flags.run.sweep.arrivals.has_scale) {
    return absl::InvalidArgumentError(
        absl::StrCat("--arrivals: expected no SCALE where a rate is searched "
                     "for, got '",
                     flags.run.arrivals, "'"));
  }
  // The search does this itself; the results say it, too.
  const Slo slo = SloOf(flags);
  flags.run.sweep.warm_up = std::max(flags.run.sweep.warm_up, LeastWarmUp(slo));
  flags.run.warm_up_s =
      std::chrono::duration<double>(flags.run.sweep.warm_up).count();
  return absl::OkStatus();
}

RunResult Confirmations(const RunResult& run) {
  RunResult confirmed = run;
  std::erase_if(confirmed.points, [&run](const PointResult& point) {
    return point.purpose != "confirm: met" || IsUnconfirmed(run, point);
  });
  if (run.search.has_value()) {
    SetGoodput(run.search->slo_ms, confirmed);
  }
  return confirmed;
}

RateSearchOptions OptionsOf(const SearchFlags& flags, double first_rate) {
  RateSearchOptions options;
  options.slo = SloOf(flags);
  options.search = {.first_rate = first_rate,
                    .precision = flags.precision,
                    .confirmations = flags.confirmations};
  options.arrivals = flags.run.sweep.arrivals;
  options.warm_up = flags.run.sweep.warm_up;
  options.measured = flags.run.sweep.measured;
  options.max_outstanding = flags.run.sweep.max_outstanding;
  options.seed = flags.run.sweep.seed;
  return WithLongWindows(options);
}

absl::StatusOr<double> FirstRate(const SearchFlags& flags,
                                 const Searched& searched,
                                 const ProgressLine::Later& later,
                                 RunResult& run) {
  if (flags.first_rate > 0) {
    return flags.first_rate;
  }
  SweepOptions closed = flags.run.sweep;
  closed.outstanding = {closed.saturation_outstanding};
  closed.rates.clear();
  closed.loads.clear();
  auto loads = searched.make_loads();
  if (!loads.ok()) {
    return loads.status();
  }
  Sweep sweep(closed, *std::move(loads), searched.counters, searched.instances);
  SignalWatcher watcher([&sweep] { sweep.Stop(); });
  ProgressLine line([&sweep] { return sweep.progress(); }, later);
  if (absl::Status swept = sweep.Run(run, PrintPoint); !swept.ok()) {
    return swept;
  }
  const PointResult& point = run.points.back();
  if (point.interrupted || point.achieved_rate <= 0) {
    return absl::UnavailableError(absl::StrFormat(
        "%s, to begin a search with half of its rate, %s: --first-rate says "
        "where to begin",
        DescribeLoad(point),
        point.interrupted ? "was cut short" : "had no success"));
  }
  // Also of an unsteady or a void one: good enough to begin with.
  return kShareOfSaturation * point.achieved_rate;
}

void PrintWindows(const SearchFlags& flags) {
  const RateSearchOptions options = OptionsOf(flags, 1);
  const double window_s =
      std::chrono::duration<double>(options.measured).count();
  if (window_s <= flags.run.duration_s) {
    return;
  }
  const int32_t tries = SloSearch::UsualTries(options.search);
  absl::FPrintF(
      stderr,
      "windows of up to %g s, not %g: a queue may grow all through one that is "
      "short against the bound and all be answered within it. A search makes "
      "about %d loads: %.0f min at most\n",
      window_s, flags.run.duration_s, tries,
      std::ceil(std::chrono::duration<double>(UsualTime(options)).count() /
                60));
}

std::string DescribeBound(const SearchFlags& flags) {
  return DescribeBound(SummaryOf(flags));
}

SearchSummary SummaryOf(const SearchFlags& flags) {
  return {.slo_ms = flags.slo_ms,
          .percentile = flags.percentile,
          .success = flags.success,
          .precision = flags.precision};
}

void AddSearchFlags(CLI::App& command, SearchFlags& flags) {
  AddServerFlags(command, flags.run);
  AddRequestFlags(command, flags.run);
  AddWindowFlags(command, flags.run);
  AddProcessFlags(command, flags.run);
  AddReportFlags(command, flags.run);
  command.option_defaults()->group("Search");
  command
      .add_option("--slo-ms", flags.slo_ms,
                  "latency from the planned send that the percentile keeps")
      ->required()
      ->check(NumberFrom(1e-3, 1e9));
  AddSearchStepFlags(command, flags);
}

void AddSearchStepFlags(CLI::App& command, SearchFlags& flags) {
  command.option_defaults()->group("Search");
  command
      .add_option("--percentile", flags.percentile,
                  "share of all requests that keep it, in percent; a request "
                  "that fails does not")
      ->check(NumberFrom(1.0, 99.99))
      ->capture_default_str();
  command
      .add_option("--success", flags.success,
                  "share of all requests that are answered with OK, however "
                  "late, in percent; 0: that of --percentile")
      ->check(NumberFrom(0.0, 100.0))
      ->capture_default_str();
  command
      .add_option("--precision", flags.precision,
                  "share of the rate: half of it may lie between a rate that "
                  "met and one that missed, half is a confirmation's step down")
      ->check(NumberFrom(1e-3, 0.5))
      ->capture_default_str();
  command
      .add_option("--confirmations", flags.confirmations,
                  "runs of one rate, of whole windows, that must "
                  "meet it together")
      ->check(IntegerFrom(1, 100))
      ->capture_default_str();
  command
      .add_option("--first-rate", flags.first_rate,
                  "requests/s to try first; 0: half of the saturation")
      ->check(NumberFrom(0.0, 1e9))
      ->capture_default_str();
}

}  // namespace ferry::bench
