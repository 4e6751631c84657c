// Implements UtilizationOf(), by the run's own saturation first, then that of
// its closed loops, then that of its search.
#include "bench/report/utilization.h"

#include <algorithm>

#include "bench/report/frontier.h"

namespace ferry::bench {

double ClosedLoopSaturation(const RunResult& run) {
  double saturation = 0;
  for (const PointResult& point : run.points) {
    if (point.loop == "closed" && IsSteady(point)) {
      saturation = std::max(saturation, point.achieved_rate);
    }
  }
  return saturation;
}

std::optional<Saturation> SaturationOf(const RunResult& run) {
  const double closed =
      run.saturation_rate > 0 ? run.saturation_rate : ClosedLoopSaturation(run);
  if (closed > 0) {
    return Saturation{closed, "closed loop"};
  }
  if (run.search.has_value() && run.search->found_rate.value_or(0) > 0) {
    return Saturation{*run.search->found_rate, "search"};
  }
  return std::nullopt;
}

std::optional<double> UtilizationOf(const RunResult& run,
                                    const PointResult& point) {
  const auto saturation = SaturationOf(run);
  if (point.loop != "open" || !saturation.has_value()) {
    return std::nullopt;
  }
  return point.offered_rate / saturation->rate;
}

bool HasUtilization(const std::vector<RunResult>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const RunResult& run) {
    return std::any_of(
        run.points.begin(), run.points.end(), [&](const PointResult& point) {
          return point.ok > 0 && UtilizationOf(run, point).has_value();
        });
  });
}

}  // namespace ferry::bench
