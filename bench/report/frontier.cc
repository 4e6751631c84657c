// Implements Frontier(): one pass over the points by rising p99.
#include "bench/report/frontier.h"

#include <algorithm>

#include "bench/report/point_rules.h"

namespace ferry::bench {
namespace {

const PointResult& At(const std::vector<RunResult>& runs, PointPlace place) {
  return runs[place.run].points[place.point];
}

std::vector<PointPlace> Carried(const std::vector<RunResult>& runs) {
  std::vector<PointPlace> places;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (size_t point = 0; point < runs[run].points.size(); ++point) {
      if (Carries(runs[run].points[point])) {
        places.push_back({run, point});
      }
    }
  }
  return places;
}

}  // namespace

bool Stands(const PointResult& point) {
  return point.void_reason.empty() && !point.interrupted && point.ok > 0 &&
         point.loop != "offline" && !IsTry(point);
}

bool IsSteady(const PointResult& point) {
  return Stands(point) && WhyUnsteady(point).empty();
}

bool Carries(const PointResult& point) {
  return Stands(point) && WhyNotCarried(point).empty();
}

std::vector<PointPlace> Frontier(const std::vector<RunResult>& runs) {
  std::vector<PointPlace> places = Carried(runs);
  std::stable_sort(places.begin(), places.end(),
                   [&](PointPlace a, PointPlace b) {
                     const PointResult& left = At(runs, a);
                     const PointResult& right = At(runs, b);
                     return left.latency.p99_us != right.latency.p99_us
                                ? left.latency.p99_us < right.latency.p99_us
                                : left.achieved_rate > right.achieved_rate;
                   });
  std::vector<PointPlace> front;
  for (const PointPlace place : places) {
    if (front.empty() ||
        At(runs, place).achieved_rate > At(runs, front.back()).achieved_rate) {
      front.push_back(place);
    }
  }
  return front;
}

std::optional<PointPlace> Chosen(const std::vector<RunResult>& runs,
                                 double slo_ms) {
  std::optional<PointPlace> best;
  for (const PointPlace place : Carried(runs)) {
    const PointResult& point = At(runs, place);
    if (point.loop == "open" && !IsUnconfirmed(runs[place.run], point) &&
        point.latency.p99_us <= slo_ms * 1e3 &&
        (!best.has_value() ||
         point.achieved_rate > At(runs, *best).achieved_rate)) {
      best = place;
    }
  }
  return best;
}

std::optional<double> SearchedSloMs(const std::vector<RunResult>& runs) {
  std::optional<double> slo_ms;
  for (const RunResult& run : runs) {
    if (!run.search.has_value() || run.search->percentile != 99) {
      continue;
    }
    if (slo_ms.has_value() && *slo_ms != run.search->slo_ms) {
      return std::nullopt;
    }
    slo_ms = run.search->slo_ms;
  }
  return slo_ms;
}

}  // namespace ferry::bench
