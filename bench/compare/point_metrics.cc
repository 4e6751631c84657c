// Implements MetricKinds(): turns intervals by batch means back into standard
// errors, slices into rates and shares.
#include "bench/compare/point_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/compare/student_t.h"
#include "bench/load/batch_means.h"
#include "bench/load/latency_histogram.h"

namespace ferry::bench {
namespace {

using Slices = std::vector<SliceSummary>;

double Answered(const SliceSummary& slice) {
  return static_cast<double>(slice.planned - slice.failed);
}

// Returns how many batch means joined the slices to, so that each has `least`.
double BatchCount(const Slices& slices, double least) {
  double batches = 0;
  double upto = 0;
  for (const SliceSummary& slice : slices) {
    upto += Answered(slice);
    if (upto >= least && upto > 0) {
      ++batches;
      upto = 0;
    }
  }
  return batches;
}

// A center whose neighbours are alike counts as fewer values.
Center Inflated(double value, double error, double count, double inflation) {
  return {value, error * std::sqrt(inflation),
          InflatedDegrees(count, inflation)};
}

// What an interval of an older file, that does not tell its degrees of freedom,
// was made of: `count` batches that were taken as independent, and the values
// of the slices, which say how far they were not.
struct OldBatches {
  double count = 0;
  std::vector<double> values;
};

// `interval` is t errors to each side of center: of a mean by its upper end, as
// the lower may have met 0; of a percentile, whose sides may differ, by both.
std::optional<Center> FromInterval(const std::optional<Interval>& interval,
                                   double center, double half,
                                   const OldBatches& old) {
  if (!interval.has_value() || !(center > 0) || !std::isfinite(half)) {
    return std::nullopt;
  }
  if (interval->degrees > 0) {
    return Center{std::log(center),
                  half / StudentQuantile(kChance, interval->degrees),
                  interval->degrees};
  }
  if (old.count < 2) {
    return std::nullopt;
  }
  return Inflated(std::log(center),
                  half / StudentQuantile(kChance, old.count - 1), old.count,
                  VarianceInflation(old.values));
}

// Relative, or of logarithms.
double UpperHalf(const std::optional<Interval>& interval, double center) {
  return interval.has_value() ? interval->high_us / center - 1 : 0;
}

double HalfOfBoth(const std::optional<Interval>& interval, double center) {
  return interval.has_value() && interval->low_us > 0 && interval->degrees > 0
             ? std::log(interval->high_us / interval->low_us) / 2
             : UpperHalf(interval, center);
}

std::vector<double> ValuesOf(const Slices& slices,
                             double (*value)(const SliceSummary&)) {
  std::vector<double> values;
  for (const SliceSummary& slice : slices) {
    if (slice.planned > 0) {
      values.push_back(value(slice));
    }
  }
  return values;
}

// Returns the values' mean; nothing where there are too few.
std::optional<Center> FromValues(const std::vector<double>& values) {
  if (values.size() < kLeastBatches) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(values.size());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return Inflated(mean, std::sqrt(squares / (count - 1) / count), count,
                  VarianceInflation(values));
}

double P50(const SliceSummary& slice) { return slice.p50_us; }
double P99(const SliceSummary& slice) { return slice.p99_us; }

double ShareFailed(const SliceSummary& slice) {
  return static_cast<double>(slice.failed) / static_cast<double>(slice.planned);
}

std::optional<double> Positive(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::optional<Center> RateBySlices(const PointResult& point) {
  auto center = FromValues(ValuesOf(point.series, Answered));
  if (!center.has_value() || !(center->value > 0)) {
    return std::nullopt;
  }
  return Center{std::log(point.achieved_rate), center->error / center->value,
                center->degrees};
}

std::optional<Center> MeanBySlices(const PointResult& point) {
  const double mean = point.latency.mean_us;
  return FromInterval(
      point.mean_interval, mean, UpperHalf(point.mean_interval, mean),
      {BatchCount(point.series, 1), ValuesOf(point.series, P50)});
}

std::optional<Center> QuantileBySlices(const PointResult& point, double q,
                                       const std::optional<Interval>& interval,
                                       double center,
                                       double (*of)(const SliceSummary&)) {
  return FromInterval(
      interval, center, HalfOfBoth(interval, center),
      {BatchCount(point.series, static_cast<double>(SamplesFor(q))),
       ValuesOf(point.series, of)});
}

std::optional<Center> P50BySlices(const PointResult& point) {
  return QuantileBySlices(point, 0.5, point.p50_interval, point.latency.p50_us,
                          P50);
}

std::optional<Center> P99BySlices(const PointResult& point) {
  return QuantileBySlices(point, 0.99, point.p99_interval, point.latency.p99_us,
                          P99);
}

std::optional<Center> ErrorsBySlices(const PointResult& point) {
  return FromValues(ValuesOf(point.series, ShareFailed));
}

std::optional<Center> Nothing(const PointResult& /*point*/) {
  return std::nullopt;
}

bool IsOffline(const PointResult& point) { return point.loop == "offline"; }

std::optional<double> Latency(const PointResult& point, double us) {
  return IsOffline(point) ? std::nullopt : Positive(us);
}

// The standard error of what is uniform within `half` to each side. Source:
// JCGM 100:2008 (Guide to the Expression of Uncertainty in Measurement), 4.3.7.
double Uniform(double half) { return half / std::sqrt(3.0); }

// A percentile is the middle of a bucket.
double OfBuckets(const PointResult& /*point*/) {
  return Uniform(kLatencyRelativeError);
}

// A request more or less at the ends of the window.
double OfOneRequest(const PointResult& point) {
  return point.ok == 0 ? 0 : Uniform(1 / static_cast<double>(point.ok));
}

double OfOneWithinBound(const PointResult& point) {
  const double within = point.goodput_rate.value_or(0) * point.window_s;
  return within > 0 ? Uniform(1 / within) : 0;
}

// Latencies, and how long a query took, are in whole nanoseconds.
double OfMean(const PointResult& point) {
  return point.latency.mean_us > 0 ? Uniform(1e-3 / point.latency.mean_us) : 0;
}

double OfQuery(const PointResult& point) {
  return point.window_s > 0 ? Uniform(1e-9 / point.window_s) : 0;
}

double OfNothing(const PointResult& /*point*/) { return 0; }

}  // namespace

const std::vector<MetricKind>& MetricKinds() {
  static const auto* const kAll = new std::vector<MetricKind>{
      {"rate", "/s", true, 1,
       [](const PointResult& point) {
         return IsOffline(point) ? std::nullopt : Positive(point.achieved_rate);
       },
       RateBySlices, OfOneRequest},
      {"rate", "rows/s", true, 1,
       [](const PointResult& point) {
         return IsOffline(point) ? Positive(point.rows_rate.value_or(0))
                                 : std::nullopt;
       },
       Nothing, OfQuery},
      {"goodput", "/s", true, 1,
       [](const PointResult& point) {
         return Positive(point.goodput_rate.value_or(0));
       },
       Nothing, OfOneWithinBound, /*is_of_bound=*/true},
      {"mean", "us", true, -1,
       [](const PointResult& point) {
         return Latency(point, point.latency.mean_us);
       },
       MeanBySlices, OfMean},
      {"p50", "us", true, -1,
       [](const PointResult& point) {
         return Latency(point, point.latency.p50_us);
       },
       P50BySlices, OfBuckets},
      {"p99", "us", true, -1,
       [](const PointResult& point) {
         return Latency(point, point.latency.p99_us);
       },
       P99BySlices, OfBuckets},
      {"errors", "share", false, -1,
       [](const PointResult& point) {
         return point.planned == 0
                    ? std::nullopt
                    : std::optional(static_cast<double>(point.error_count()) /
                                    static_cast<double>(point.planned));
       },
       ErrorsBySlices, OfNothing},
      {"rows", "a batch", true, 0,
       [](const PointResult& point) {
         return Positive(point.mean_rows.value_or(0));
       },
       Nothing, OfOneRequest}};
  return *kAll;
}

}  // namespace ferry::bench
