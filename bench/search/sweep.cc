// The order of points, and one point: probe beside generator.
#include "bench/search/sweep.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "bench/search/window_probe.h"

namespace ferry::bench {
namespace {

// How long a query waits for any answer before it is given up.
constexpr Duration kQuietLimit = std::chrono::milliseconds(60000);

}  // namespace

Sweep::Sweep(const SweepOptions& options, Target& target,
             const ServerProbe* probe, int32_t lanes)
    : options_(options),
      probe_(probe),
      lanes_(lanes),
      generator_(target, pacer_) {}

void Sweep::Stop() {
  stopped_.store(true, std::memory_order_relaxed);
  generator_.Stop();
}

void Sweep::Run(RunResult& run, const OnPoint& on_point) {
  const auto stopped = [this] {
    return stopped_.load(std::memory_order_relaxed);
  };
  const auto add = [&](PointResult point) {
    run.points.push_back(std::move(point));
    on_point(run.points.back());
  };
  std::vector<int32_t> closed = options_.outstanding;
  if (!options_.loads.empty() &&
      std::find(closed.begin(), closed.end(),
                options_.saturation_outstanding) == closed.end()) {
    closed.push_back(options_.saturation_outstanding);
  }
  for (const int32_t outstanding : closed) {
    if (stopped()) {
      return;
    }
    add(MeasureClosed(outstanding));
    if (run.points.back().void_reason.empty()) {
      run.saturation_rate =
          std::max(run.saturation_rate, run.points.back().achieved_rate);
    }
  }
  std::vector<double> rates = options_.rates;
  for (const double load : options_.loads) {
    rates.push_back(load * run.saturation_rate);
  }
  uint64_t seed = options_.seed;
  for (const double rate : rates) {
    if (stopped()) {
      return;
    }
    if (rate <= 0) {
      continue;  // no saturation was found: nothing to take a share of
    }
    PointResult point = MeasureOpen(rate, seed++);
    if (run.saturation_rate > 0) {
      point.load = rate / run.saturation_rate;
    }
    add(std::move(point));
  }
  if (options_.offline.has_value() && !stopped()) {
    add(MeasureOffline(*options_.offline));
  }
}

PointResult Sweep::MeasureClosed(int32_t outstanding) {
  const LoadPlan plan = MakePlan();
  WindowProbe probe(probe_, plan, lanes_);
  const std::unique_ptr<LoadResult> load =
      generator_.RunClosed(outstanding, plan);
  Tell(*load);
  PointResult point = Summarize(*load, probe.Finish());
  point.loop = "closed";
  point.outstanding = outstanding;
  return point;
}

PointResult Sweep::MeasureOpen(double rate, uint64_t seed) {
  const auto arrivals = options_.arrivals.make(rate, seed);
  const LoadPlan plan = MakePlan();
  WindowProbe probe(probe_, plan, lanes_);
  const std::unique_ptr<LoadResult> load = generator_.RunOpen(*arrivals, plan);
  Tell(*load);
  PointResult point = Summarize(*load, probe.Finish());
  point.loop = "open";
  point.arrivals = options_.arrivals.name;
  point.target_rate = rate;
  point.seed = seed;
  return point;
}

PointResult Sweep::MeasureOffline(const OfflineQuery& query) {
  LoadPlan plan = MakePlan();
  if (options_.warm_up > Duration::zero()) {
    LoadPlan warm_up = plan;
    warm_up.measured = options_.warm_up;
    warm_up.warm_up = Duration::zero();
    warm_up.keeps_stamps = false;
    generator_.RunClosed(query.outstanding, warm_up);
  }
  plan.drain_limit = kQuietLimit;
  const ServerCounters begin =
      probe_ != nullptr ? probe_->Read() : ServerCounters();
  const std::unique_ptr<LoadResult> load =
      generator_.RunOffline(query.requests, query.outstanding, plan);
  Tell(*load);
  PointResult point = Summarize(
      *load, probe_ != nullptr ? Difference(begin, probe_->Read(), lanes_)
                               : ServerWindow());
  point.loop = "offline";
  point.outstanding = query.outstanding;
  point.query_rows = query.requests * static_cast<uint64_t>(query.rows);
  point.rows_rate = point.achieved_rate * query.rows;
  return point;
}

void Sweep::Tell(const LoadResult& load) const {
  if (options_.on_load) {
    options_.on_load(load);
  }
}

LoadPlan Sweep::MakePlan() {
  LoadPlan plan = PlanWindow(pacer_, options_.warm_up, options_.measured,
                             options_.max_outstanding);
  plan.keeps_stamps = options_.on_load != nullptr;
  return plan;
}

}  // namespace ferry::bench
