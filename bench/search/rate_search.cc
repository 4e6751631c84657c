// Implements RateSearch: one try after the other.
#include "bench/search/rate_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "bench/load/batch_means.h"
#include "bench/load/falling_behind.h"
#include "bench/report/machine.h"
#include "bench/report/point_rules.h"
#include "bench/search/window_probe.h"

namespace ferry::bench {
namespace {

// No try is decided before: latencies of one busy period are alike.
constexpr Duration kLeastTime = std::chrono::seconds(1);
constexpr int kLeastBounds = 50;  // of the bound's latency
// Nor before this one, where it is clear by far.
constexpr int kLeastBoundsFar = 10;
// It is asked many times a try, and each time may err.
constexpr double kEarlyConfidence = 0.999;
constexpr int kWarmUpBounds = 2;

const char* StageName(SloSearch::Stage stage) {
  switch (stage) {
    case SloSearch::Stage::kBracket:
      return "bracket";
    case SloSearch::Stage::kBisect:
      return "bisect";
    case SloSearch::Stage::kConfirm:
      return "confirm";
  }
  return "";
}

}  // namespace

Duration LeastWindow(const Slo& slo) { return slo.latency * kLeastBounds; }

Duration LeastWarmUp(const Slo& slo) { return slo.latency * kWarmUpBounds; }

RateSearchOptions WithLongWindows(RateSearchOptions options) {
  options.measured = std::max(options.measured, LeastWindow(options.slo));
  options.warm_up = std::max(options.warm_up, LeastWarmUp(options.slo));
  return options;
}

Duration UsualTime(const RateSearchOptions& options) {
  const RateSearchOptions longer = WithLongWindows(options);
  return (longer.warm_up + longer.measured) *
         SloSearch::UsualTries(options.search);
}

RateSearch::RateSearch(const RateSearchOptions& options, LoadSource& loads,
                       Pacer& pacer, const CounterSource* probe,
                       int32_t instances)
    : options_(WithLongWindows(options)),
      probe_(probe),
      instances_(instances),
      loads_(loads),
      pacer_(pacer),
      search_(options.search) {
  later_ = TimeOf(TriesLeft());
}

void RateSearch::Stop() {
  stopped_.store(true, std::memory_order_relaxed);
  loads_.Stop();
}

std::optional<double> RateSearch::Run(RunResult& run, const OnTry& on_try) {
  while (Step(run, on_try)) {
  }
  return found();
}

std::optional<double> RateSearch::found() const {
  return has_ended_ ? std::nullopt : search_.found();
}

bool RateSearch::Step(RunResult& run, const OnTry& on_try) {
  const std::optional<SloSearch::Try> next = search_.Next();
  if (has_ended_ || !next.has_value()) {
    return false;
  }
  if (options_.only_above && next->rate < options_.search.first_rate) {
    has_ended_ = true;
    return false;
  }
  const bool narrows = next->stage != SloSearch::Stage::kConfirm;
  SloSearch::Left after = TriesLeft();
  --(narrows ? after.narrowing : after.confirming);
  later_ = TimeOf(after);
  const TimePoint begin = pacer_.Now();
  Outcome outcome = Outcome::kMissed;
  absl::StatusOr<PointResult> point = Measure(*next, outcome);
  if (!point.ok()) {
    status_ = point.status();
    has_ended_ = true;
    return false;
  }
  run.points.push_back(*std::move(point));
  if (stopped_.load(std::memory_order_relaxed)) {
    has_ended_ = true;
    return false;
  }
  on_try(run.points.back());
  if (narrows) {
    ++narrowed_.count;
    narrowed_.time += pacer_.Now() - begin;
  }
  has_met_ = has_met_ || outcome == Outcome::kMet;
  Tell(next->rate, outcome);
  later_ = TimeOf(TriesLeft());
  return true;
}

SloSearch::Left RateSearch::TriesLeft() const {
  if (options_.only_above && !has_met_) {
    return {.narrowing = tries_ == 0 ? 2 : 1};  // a miss is made again
  }
  return search_.TriesLeft();
}

Duration RateSearch::TimeOf(const SloSearch::Left& tries) const {
  const Duration whole = options_.warm_up + options_.measured;
  const Duration narrowing =
      narrowed_.count > 0 ? narrowed_.time / narrowed_.count : whole;
  return narrowing * tries.narrowing + whole * tries.confirming;
}

void RateSearch::Tell(double rate, Outcome outcome) {
  if (outcome == Outcome::kClientLate) {
    client_ceiling_ = rate;
    search_.ReportCeiling();
    return;
  }
  if (outcome == Outcome::kMet ? rate >= client_ceiling_
                               : rate <= client_ceiling_) {
    client_ceiling_ = 0;  // it was sent on time, or the server ends it
  }
  if (outcome == Outcome::kUnsteady) {
    search_.ReportDoubt();
  } else {
    search_.Report(outcome == Outcome::kMet);
  }
}

absl::StatusOr<PointResult> RateSearch::Measure(const SloSearch::Try& next,
                                                Outcome& outcome) {
  const uint64_t seed = options_.seed + tries_++;
  LoadPlan plan = PlanWindow(pacer_, options_.warm_up, options_.measured,
                             options_.max_outstanding);
  plan.start += loads_.lead_time();
  // An answer later than that has missed the bound anyhow.
  plan.drain_limit =
      std::max(plan.drain_limit, options_.slo.latency * kWarmUpBounds);
  WindowProbe window(probe_, plan, instances_);
  if (next.stage != SloSearch::Stage::kConfirm) {
    plan.is_decided = [&](const LoadResult& load) {
      const bool is_decided = IsDecided(load, plan.window_begin());
      if (is_decided) {
        window.EndNow();
      }
      return is_decided;
    };
  }
  const LoadSource::Loaded loaded = loads_.RunOpen(next.rate, seed, plan);
  if (!loaded.ok()) {
    return loaded.status();
  }
  const std::unique_ptr<LoadResult>& load = *loaded;
  const ServerWindow server = window.Finish();
  outcome = OutcomeOf(next.stage, *load);
  if (next.stage == SloSearch::Stage::kConfirm &&
      (outcome == Outcome::kMet || outcome == Outcome::kMissed)) {
    outcome = IsConfirmed(next.rate, *load) ? Outcome::kMet : Outcome::kMissed;
  }
  PointResult point = Summarize(*load, server);
  point.purpose =
      absl::StrCat(StageName(next.stage), ": ", NameOf(next.stage, outcome));
  point.loop = "open";
  point.begun = DateOf(plan.window_begin());
  point.arrivals = options_.arrivals.name;
  point.target_rate = next.rate;
  point.seed = seed;
  return point;
}

const char* RateSearch::NameOf(SloSearch::Stage stage, Outcome outcome) {
  switch (outcome) {
    case Outcome::kMet:
      return "met";
    case Outcome::kMissed:
      return "missed";
    case Outcome::kUnsteady:
      return stage == SloSearch::Stage::kConfirm ? "unsteady"
                                                 : "unsteady, missed";
    case Outcome::kClientLate:
      return "client late";
  }
  return "";
}

bool RateSearch::IsConfirmed(double rate, const LoadResult& load) {
  if (rate != together_.rate) {
    together_ = {};
    together_.rate = rate;
  }
  ++together_.runs;
  together_.counts += CountAgainst(load, options_.slo);
  if (together_.runs < options_.search.confirmations) {
    return TestSlo(together_.counts, options_.slo, kEarlyConfidence) !=
           ShareVerdict::kMissed;
  }
  return Keeps(together_.counts, options_.slo);
}

// Calls that are held back are those of a server that is far behind.
RateSearch::Outcome RateSearch::OutcomeOf(SloSearch::Stage stage,
                                          const LoadResult& load) const {
  if (load.held_back > 0 || load.not_sent > 0) {
    return Outcome::kMissed;
  }
  if (load.planned > 0 && !VoidReason(load).empty()) {
    return Outcome::kClientLate;
  }
  const SloCounts counts = CountAgainst(load, options_.slo);
  const bool is_sure =
      TestSlo(counts, options_.slo, kEarlyConfidence) == ShareVerdict::kMissed;
  const bool keeps = Keeps(counts, options_.slo);
  // Several confirmations are judged together.
  if ((keeps || (stage == SloSearch::Stage::kConfirm && !is_sure)) &&
      (FellBehind(CountAnswered(load)) || !Unsteadiness(load).empty())) {
    return Outcome::kUnsteady;
  }
  return keeps ? Outcome::kMet : Outcome::kMissed;
}

// Judges what has ended: what is under way cannot be told from what is late.
bool RateSearch::IsDecided(const LoadResult& load, TimePoint begin) const {
  if (load.held_back > 0) {
    return true;
  }
  const Duration since = pacer_.Now() - begin;
  const auto verdict_on = [&](const Slo& slo) {
    return TestSlo(CountAgainst(load, slo), slo, kEarlyConfidence);
  };
  if (since >= std::max(kLeastTime, LeastWindow(options_.slo))) {
    return verdict_on(options_.slo) != ShareVerdict::kUndecided;
  }
  if (since <
      std::max<Duration>(kLeastTime, options_.slo.latency * kLeastBoundsFar)) {
    return false;
  }
  // Far off: the bound is kept by half of it, or missed by half of all.
  Slo half = options_.slo;
  half.latency /= 2;
  Slo of_half = options_.slo;
  of_half.quantile /= 2;
  of_half.success /= 2;
  return verdict_on(half) == ShareVerdict::kMet ||
         verdict_on(of_half) == ShareVerdict::kMissed;
}

}  // namespace ferry::bench
