// Implements OverallPercentileUs(): a rank among all requests is the same rank
// among the successes, which come first.
#include "bench/report/overall_latency.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/load/histogram_record.h"
#include "bench/report/point_rules.h"

namespace ferry::bench {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// 0.99 * 1000 may come out as a little more than 990.
constexpr double kRounding = 1e-6;

// From 1.
uint64_t RankOf(double q, uint64_t count) {
  const double rank = std::ceil(q * static_cast<double>(count) - kRounding);
  return std::clamp<uint64_t>(static_cast<uint64_t>(std::max(rank, 1.0)), 1,
                              count);
}

}  // namespace

std::optional<double> OverallPercentileUs(const PointResult& point, double q) {
  if (point.ok == 0) {
    return std::nullopt;
  }
  const uint64_t rank = RankOf(q, std::max(point.planned, point.ok));
  if (rank > point.ok) {
    return kNever;
  }
  const auto latency = Restore(point.histograms.latency);
  if (!latency.ok() || latency->count() != point.ok) {
    return std::nullopt;
  }
  // In the middle of what rounds up to the rank.
  const double share =
      (static_cast<double>(rank) - 0.5) / static_cast<double>(point.ok);
  return static_cast<double>(latency->Quantile(share)) / 1e3;
}

std::optional<double> OverallMeanUs(const PointResult& point) {
  if (point.ok == 0) {
    return std::nullopt;
  }
  return SuccessShare(point) >= kLeastSuccessShare ? point.latency.mean_us
                                                   : kNever;
}

}  // namespace ferry::bench
