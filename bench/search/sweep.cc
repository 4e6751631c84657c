// Implements Sweep: loads one after the other, and what each carried.
#include "bench/search/sweep.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/device/device_watch.h"
#include "bench/report/machine.h"
#include "bench/report/report_table.h"
#include "bench/report/utilization.h"
#include "bench/search/window_probe.h"

namespace ferry::bench {
namespace {

// How long a query waits for any answer before it is given up.
constexpr Duration kQuietLimit = std::chrono::milliseconds(60000);

// REQUIRES: its closed loops had no success, none was cut short.
absl::Status NoSaturation(const RunResult& run) {
  std::vector<std::string> found;
  for (const PointResult& point : run.points) {
    if (point.loop == "closed") {
      found.push_back(absl::StrCat(DescribeLoad(point), ": ",
                                   DescribeErrors(point.errors)));
    }
  }
  return absl::UnavailableError(absl::StrCat(
      "--loads: expected a closed loop with successes, to take shares of what "
      "it achieves, found ",
      absl::StrJoin(found, "; "),
      "; fewer --saturation-outstanding may have some, and --rates take "
      "none"));
}

}  // namespace

Sweep::Sweep(const SweepOptions& options, Target& target,
             const CounterSource* probe, int32_t instances)
    : Sweep(options, std::make_unique<OwnLoads>(target, options.arrivals),
            probe, instances) {}

Sweep::Sweep(const SweepOptions& options, std::unique_ptr<LoadSource> loads,
             const CounterSource* probe, int32_t instances)
    : options_(options),
      probe_(probe),
      instances_(instances),
      loads_(std::move(loads)) {}

void Sweep::Stop() {
  stopped_.store(true, std::memory_order_relaxed);
  loads_->Stop();
}

absl::Status Sweep::Run(RunResult& run, const OnPoint& on_point) {
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
      return absl::OkStatus();
    }
    auto point = MeasureClosed(outstanding);
    if (!point.ok()) {
      return point.status();
    }
    add(*std::move(point));
    run.saturation_rate = MeasuredSaturation(run);
  }
  std::vector<double> rates = options_.rates;
  if (run.saturation_rate > 0) {
    for (const double load : options_.loads) {
      rates.push_back(load * run.saturation_rate);
    }
  }
  uint64_t seed = options_.seed;
  for (const double rate : rates) {
    if (stopped()) {
      return absl::OkStatus();
    }
    auto point = MeasureOpen(rate, seed++);
    if (!point.ok()) {
      return point.status();
    }
    if (run.saturation_rate > 0) {
      point->load = rate / run.saturation_rate;
    }
    add(*std::move(point));
  }
  if (options_.offline.has_value() && !stopped()) {
    auto point = MeasureOffline(*options_.offline);
    if (!point.ok()) {
      return point.status();
    }
    add(*std::move(point));
  }
  return run.saturation_rate > 0 || options_.loads.empty() || stopped()
             ? absl::OkStatus()
             : NoSaturation(run);
}

absl::StatusOr<PointResult> Sweep::MeasureClosed(int32_t outstanding) {
  const LoadPlan plan = MakePlan();
  WindowProbe probe(probe_, plan, instances_);
  const LoadSource::Loaded load = loads_->RunClosed(outstanding, plan);
  if (!load.ok()) {
    return load.status();
  }
  Tell(**load);
  PointResult point = Summarize(**load, probe.Finish());
  point.begun = DateOf(plan.window_begin());
  point.loop = "closed";
  point.outstanding = outstanding;
  return point;
}

absl::StatusOr<PointResult> Sweep::MeasureOpen(double rate, uint64_t seed) {
  const LoadPlan plan = MakePlan();
  WindowProbe probe(probe_, plan, instances_);
  const LoadSource::Loaded load = loads_->RunOpen(rate, seed, plan);
  if (!load.ok()) {
    return load.status();
  }
  Tell(**load);
  PointResult point = Summarize(**load, probe.Finish());
  point.loop = "open";
  point.begun = DateOf(plan.window_begin());
  point.arrivals = options_.arrivals.name;
  point.target_rate = rate;
  point.seed = seed;
  return point;
}

absl::StatusOr<PointResult> Sweep::MeasureOffline(const OfflineQuery& query) {
  LoadPlan plan = MakePlan();
  if (options_.warm_up > Duration::zero()) {
    LoadPlan warm_up = plan;
    warm_up.measured = options_.warm_up;
    warm_up.warm_up = Duration::zero();
    warm_up.keeps_stamps = false;
    const LoadSource::Loaded warm =
        loads_->RunClosed(query.outstanding, warm_up);
    if (!warm.ok()) {
      return warm.status();
    }
  }
  plan.drain_limit = kQuietLimit;
  const std::string begun = DateOf(pacer_.Now());  // not when it warmed up
  const ServerCounters begin =
      probe_ != nullptr ? probe_->Read() : ServerCounters();
  DeviceWatch device(probe_ != nullptr ? probe_->device() : nullptr,
                     pacer_.Now(), kNever);
  const LoadSource::Loaded load =
      loads_->RunOffline(query.requests, query.outstanding, plan);
  if (!load.ok()) {
    return load.status();
  }
  device.EndNow();
  Tell(**load);
  ServerWindow server = probe_ != nullptr
                            ? Difference(begin, probe_->Read(), instances_)
                            : ServerWindow();
  server.device = device.Finish();
  PointResult point = Summarize(**load, server);
  point.loop = "offline";
  point.begun = begun;
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
  plan.start += loads_->lead_time();
  plan.keeps_stamps = options_.on_load != nullptr;
  return plan;
}

}  // namespace ferry::bench
