// Implements WithCounting(): steps of values, and counts of failures.
#include "bench/compare/counting_error.h"

#include <algorithm>
#include <cmath>

namespace ferry::bench {
namespace {

using Points = std::vector<MeasuredPoint>;

double Resolution(const Points& points, const MetricKind& kind) {
  double widest = 0;
  for (const MeasuredPoint& measured : points) {
    widest = std::max(widest, kind.resolution(*measured.point));
  }
  return widest;
}

struct Failures {
  double failed = 0;
  double planned = 0;
};

Failures FailuresOf(const Points& points) {
  Failures of;
  for (const MeasuredPoint& measured : points) {
    of.failed += static_cast<double>(measured.point->error_count());
    of.planned += static_cast<double>(measured.point->planned);
  }
  return of;
}

// The error of the difference of two shares that are one.
double BinomialError(const Failures& a, const Failures& b) {
  if (a.planned == 0 || b.planned == 0) {
    return 0;
  }
  const double share = (a.failed + b.failed) / (a.planned + b.planned);
  return std::sqrt(std::max(share * (1 - share), 0.0) *
                   (1 / a.planned + 1 / b.planned));
}

}  // namespace

double WithCounting(const LoadMatch& match, const MetricKind& kind,
                    double error) {
  if (!kind.is_ratio) {
    return std::max(error,
                    BinomialError(FailuresOf(match.a), FailuresOf(match.b)));
  }
  return std::hypot(error, Resolution(match.a, kind),
                    Resolution(match.b, kind));
}

}  // namespace ferry::bench
