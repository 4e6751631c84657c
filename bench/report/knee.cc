// Implements FindKnee(): takes the point of highest power, in one pass.
#include "bench/report/knee.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/report/frontier.h"
#include "bench/report/point_rules.h"

namespace ferry::bench {
namespace {

bool Counts(const PointResult& point) {
  return point.loop == "open" && !IsTry(point) && point.void_reason.empty() &&
         !point.interrupted && point.achieved_rate > 0 &&
         point.latency.mean_us > 0;
}

double PowerOf(const PointResult& point) {
  return point.achieved_rate / (point.latency.mean_us / 1e6);
}

}  // namespace

std::optional<Knee> FindKnee(const RunResult& run) {
  if (run.search.has_value()) {
    return std::nullopt;
  }
  std::vector<const PointResult*> points;
  std::set<double> rates;
  std::set<double> measured;  // carried or not
  std::set<std::string> arrivals;
  for (const PointResult& point : run.points) {
    if (!Counts(point)) {
      continue;
    }
    measured.insert(point.target_rate);
    if (Carries(point)) {
      points.push_back(&point);
      rates.insert(point.target_rate);
      arrivals.insert(point.arrivals);
    }
  }
  if (rates.size() < kLeastKneePoints || arrivals.size() > 1) {
    return std::nullopt;
  }
  const PointResult& best =
      **std::max_element(points.begin(), points.end(),
                         [](const PointResult* left, const PointResult* right) {
                           return PowerOf(*left) < PowerOf(*right);
                         });
  return Knee{.rate = best.achieved_rate,
              .mean_us = best.latency.mean_us,
              .p99_us = best.latency.p99_us,
              .power = PowerOf(best),
              .is_lowest = best.target_rate == *measured.begin(),
              .is_highest = best.target_rate == *measured.rbegin()};
}

std::string Describe(const Knee& knee) {
  return absl::StrFormat(
      "knee, the highest rate / mean latency: %.0f/s, mean %.2f ms, p99 %.2f "
      "ms%s",
      knee.rate, knee.mean_us / 1e3, knee.p99_us / 1e3,
      knee.is_lowest    ? "; the lowest rate measured: it may be below"
      : knee.is_highest ? "; the highest rate measured: it may be above"
                        : "");
}

}  // namespace ferry::bench
