// Implements UtilizationOf(), by the run's own saturation first, then that of
// its closed loops, then that of its search.
#include "bench/report/utilization.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bench/report/frontier.h"
#include "bench/report/point_rules.h"
#include "bench/report/report_table.h"

namespace ferry::bench {

namespace {

// How far the rate of a closed loop is to be trusted; 0: not at all.
int TrustOf(const PointResult& point) {
  if (point.loop != "closed" || point.ok == 0 || point.interrupted) {
    return 0;
  }
  return IsSteady(point) ? 3 : Stands(point) ? 2 : 1;
}

// Returns null where no closed loop had a success.
const PointResult* SaturationPoint(const RunResult& run) {
  const PointResult* best = nullptr;
  for (const PointResult& point : run.points) {
    const int trust = TrustOf(point);
    const int least = best == nullptr ? 1 : TrustOf(*best);
    if (trust > least ||
        (trust == least &&
         (best == nullptr || point.achieved_rate > best->achieved_rate))) {
      best = &point;
    }
  }
  return best;
}

}  // namespace

double ClosedLoopSaturation(const RunResult& run) {
  const PointResult* const point = SaturationPoint(run);
  return point == nullptr || !IsSteady(*point) ? 0 : point->achieved_rate;
}

double MeasuredSaturation(const RunResult& run) {
  const PointResult* const point = SaturationPoint(run);
  return point == nullptr ? 0 : point->achieved_rate;
}

std::string DoubtOfClosedLoop(const PointResult& point) {
  return point.void_reason.empty() ? WhyNotCarried(point)
                                   : absl::StrCat("void: ", point.void_reason);
}

const PointResult* ClosedLoopOf(const RunResult& run, double rate) {
  const auto found = std::find_if(
      run.points.begin(), run.points.end(), [rate](const PointResult& point) {
        return TrustOf(point) > 0 && point.achieved_rate == rate;
      });
  return found == run.points.end() ? nullptr : &*found;
}

std::string DoubtOfSaturation(const RunResult& run) {
  const PointResult* const point = ClosedLoopOf(run, run.saturation_rate);
  const std::string doubt = point == nullptr ? "" : DoubtOfClosedLoop(*point);
  return doubt.empty() ? "" : absl::StrCat(DescribeLoad(*point), ": ", doubt);
}

std::optional<Saturation> SaturationOf(const RunResult& run) {
  const double closed =
      run.saturation_rate > 0 ? run.saturation_rate : ClosedLoopSaturation(run);
  const double found =
      run.search.has_value() ? run.search->found_rate.value_or(0) : 0;
  if (found > 0 && (closed == 0 || !DoubtOfSaturation(run).empty())) {
    return Saturation{found, "search"};
  }
  return closed > 0 ? std::optional(Saturation{closed, "closed loop"})
                    : std::nullopt;
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
