// Sweep measures one server at several loads: closed loops first, then open
// loops at rates, given or as shares of the saturation that the closed loops
// found (MeasuredSaturation()), then a query of many requests.
//
// Thread safety: thread-compatible; Stop() from any thread.
// Errors: those of the LoadSource; UNAVAILABLE, with what each closed loop
// met, where there are shares of a saturation and none had a success. A busy
// machine is no error: loads are then shares of what could be measured
// (DoubtOfSaturation()).
#ifndef FERRY_BENCH_SEARCH_SWEEP_H_
#define FERRY_BENCH_SEARCH_SWEEP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "bench/arrivals/arrival_shape.h"
#include "bench/client/counter_source.h"
#include "bench/load/load_source.h"
#include "bench/load/target.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

// One query, timed until its last answer.
struct OfflineQuery {
  uint64_t requests = 0;
  int32_t rows = 0;         // of each request
  int32_t outstanding = 0;  // requests at a time
};

struct SweepOptions {
  std::vector<int32_t> outstanding;  // a closed loop each
  std::vector<double> rates;         // requests/s; an open loop each
  std::vector<double> loads;         // shares of saturation; an open loop each
  std::optional<OfflineQuery> offline;
  ArrivalShape arrivals = PoissonShape();  // of open loops
  // A closed loop for the saturation, where there are loads.
  int32_t saturation_outstanding = 256;
  Duration warm_up = Milliseconds(2000);
  Duration measured = Milliseconds(5000);
  int32_t max_outstanding = 8192;
  uint64_t seed = 1;
  // Told of each load, with the stamps of its calls; empty: none are kept.
  std::function<void(const LoadResult&)> on_load;
};

class Sweep {
 public:
  using OnPoint = std::function<void(const PointResult&)>;

  // Sends from this process. `target` and `probe`, which may be null, outlive
  // it.
  Sweep(const SweepOptions& options, Target& target, const CounterSource* probe,
        int32_t instances);
  // Sends from `loads`, whose arrivals are those of the options.
  Sweep(const SweepOptions& options, std::unique_ptr<LoadSource> loads,
        const CounterSource* probe, int32_t instances);

  // Appends a point for each load to run.points, sets run.saturation_rate, and
  // calls `on_point` after each. An error ends it; the points before stay.
  // Rates that were given are measured without a saturation, too.
  absl::Status Run(RunResult& run, const OnPoint& on_point);

  // Ends the point under way and the sweep; what was measured stays.
  void Stop();

  // Tells of the load under way; nothing between two. Any thread.
  std::optional<LoadProgress> progress() const { return loads_->progress(); }

 private:
  absl::StatusOr<PointResult> MeasureClosed(int32_t outstanding);
  absl::StatusOr<PointResult> MeasureOpen(double rate, uint64_t seed);
  absl::StatusOr<PointResult> MeasureOffline(const OfflineQuery& query);
  void Tell(const LoadResult& load) const;
  LoadPlan MakePlan();

  const SweepOptions options_;
  const CounterSource* const probe_;
  const int32_t instances_;
  const std::unique_ptr<LoadSource> loads_;
  SteadyPacer pacer_;
  std::atomic<bool> stopped_{false};
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_SWEEP_H_
