// One try after the other.
#include "bench/search/rate_search.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "bench/load/binomial_test.h"
#include "bench/report/machine.h"
#include "bench/search/window_probe.h"

namespace ferry::bench {
namespace {

// No try is decided before: latencies of one busy period are alike.
constexpr Duration kLeastTime = std::chrono::seconds(1);
constexpr int kLeastBounds = 50;  // of the bound's latency
// It is asked many times a try, and each time may err.
constexpr double kEarlyConfidence = 0.999;

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

uint64_t MissedBound(const LoadResult& load, const Slo& slo) {
  const uint64_t within =
      load.latency.CountAtOrBelow(static_cast<uint64_t>(slo.latency.count()));
  return load.planned - std::min(load.planned, within);
}

RateSearch::RateSearch(const RateSearchOptions& options, Target& target,
                       Pacer& pacer, const ServerProbe* probe, int32_t lanes)
    : options_(options),
      probe_(probe),
      lanes_(lanes),
      pacer_(pacer),
      generator_(target, pacer) {}

void RateSearch::Stop() {
  stopped_.store(true, std::memory_order_relaxed);
  generator_.Stop();
}

std::optional<double> RateSearch::Run(RunResult& run, const OnTry& on_try) {
  SloSearch search(options_.search);
  while (const std::optional<SloSearch::Try> next = search.Next()) {
    if (options_.only_above && next->rate < options_.search.first_rate) {
      return std::nullopt;
    }
    Outcome outcome = Outcome::kMissed;
    PointResult point = Measure(*next, outcome);
    run.points.push_back(std::move(point));
    if (stopped_.load(std::memory_order_relaxed)) {
      return std::nullopt;
    }
    on_try(run.points.back());
    if (outcome == Outcome::kClientLate) {
      client_ceiling_ = next->rate;
      search.ReportCeiling();
      continue;
    }
    if (outcome == Outcome::kMissed && next->rate <= client_ceiling_) {
      client_ceiling_ = 0;  // it is the server that ends it
    }
    search.Report(outcome == Outcome::kMet);
  }
  return search.found();
}

PointResult RateSearch::Measure(const SloSearch::Try& next, Outcome& outcome) {
  const uint64_t seed = options_.seed + tries_++;
  const auto arrivals = options_.arrivals.make(next.rate, seed);
  LoadPlan plan = PlanWindow(pacer_, options_.warm_up, options_.measured,
                             options_.max_outstanding);
  WindowProbe window(probe_, plan, lanes_);
  if (next.stage != SloSearch::Stage::kConfirm) {
    plan.is_decided = [&](const LoadResult& load) {
      const bool is_decided = IsDecided(load, plan.window_begin());
      if (is_decided) {
        window.EndNow();
      }
      return is_decided;
    };
  }
  const std::unique_ptr<LoadResult> load = generator_.RunOpen(*arrivals, plan);
  const ServerWindow server = window.Finish();
  outcome = OutcomeOf(*load);
  if (next.stage == SloSearch::Stage::kConfirm &&
      outcome != Outcome::kClientLate) {
    outcome = IsConfirmed(next.rate, *load) ? Outcome::kMet : Outcome::kMissed;
  }
  PointResult point = Summarize(*load, server);
  point.purpose = absl::StrCat(StageName(next.stage),
                               outcome == Outcome::kMet      ? ": met"
                               : outcome == Outcome::kMissed ? ": missed"
                                                             : ": client late");
  point.loop = "open";
  point.begun = DateOf(plan.window_begin());
  point.arrivals = options_.arrivals.name;
  point.target_rate = next.rate;
  point.seed = seed;
  return point;
}

bool RateSearch::IsConfirmed(double rate, const LoadResult& load) {
  if (rate != together_.rate) {
    together_ = {};
    together_.rate = rate;
  }
  ++together_.runs;
  together_.missed += MissedBound(load, options_.slo);
  together_.planned += load.planned;
  if (together_.runs < options_.search.confirmations) {
    return TestShare(together_.missed, together_.planned,
                     1 - options_.slo.quantile,
                     kEarlyConfidence) != ShareVerdict::kMissed;
  }
  return Keeps(together_.missed, together_.planned);
}

// Calls that are held back are those of a server that is far behind.
RateSearch::Outcome RateSearch::OutcomeOf(const LoadResult& load) const {
  if (load.held_back > 0 || load.not_sent > 0) {
    return Outcome::kMissed;
  }
  if (load.planned > 0 && !VoidReason(load).empty()) {
    return Outcome::kClientLate;
  }
  return Keeps(MissedBound(load, options_.slo), load.planned)
             ? Outcome::kMet
             : Outcome::kMissed;
}

bool RateSearch::Keeps(uint64_t missed, uint64_t planned) const {
  return static_cast<double>(missed) <=
         (1 - options_.slo.quantile) * static_cast<double>(planned);
}

// Of what has ended; what is still under way cannot be told from what is late.
bool RateSearch::IsDecided(const LoadResult& load, TimePoint begin) const {
  const Duration least =
      std::max<Duration>(kLeastTime, options_.slo.latency * kLeastBounds);
  return load.held_back > 0 ||
         (pacer_.Now() - begin >= least &&
          TestShare(MissedBound(load, options_.slo), load.planned,
                    1 - options_.slo.quantile,
                    kEarlyConfidence) != ShareVerdict::kUndecided);
}

}  // namespace ferry::bench
