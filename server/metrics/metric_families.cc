// Implements MetricFamilies: Prometheus counters, gauges and histograms.
#include "server/metrics/metric_families.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ferry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kNanosPerSecond = 1e9;

// Bounds in seconds: 1, 2.5, 5 a power of ten, from 50 us to 10 s.
constexpr double kDurationBounds[] = {
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,     10};

ClientMetric::Bucket Overflow(uint64_t count) {
  return {count, std::numeric_limits<double>::infinity()};
}

// A bucket that is empty has the count of the one before: it is left out.
void AddCounted(const DurationHistogram& histogram,
                ClientMetric::Histogram& out) {
  uint64_t seen = 0;
  for (size_t i = 0; i < DurationHistogram::kBucketCount; ++i) {
    if (histogram.bucket(i) > 0) {
      seen += histogram.bucket(i);
      out.bucket.push_back(
          {seen, static_cast<double>(DurationHistogram::LowestOf(i + 1)) /
                     kNanosPerSecond});
    }
  }
}

}  // namespace

ClientMetric& MetricFamilies::Add(const MetricName& name, MetricType type,
                                  MetricLabels labels) {
  auto family = std::find_if(
      families_.begin(), families_.end(),
      [&name](const MetricFamily& other) { return other.name == name.name; });
  if (family == families_.end()) {
    family = families_.insert(family, MetricFamily());
    family->name = name.name;
    family->help = name.help;
    family->type = type;
  }
  ClientMetric& metric = family->metric.emplace_back();
  metric.label = std::move(labels);
  return metric;
}

void MetricFamilies::AddCounter(const MetricName& name, MetricLabels labels,
                                double value) {
  Add(name, MetricType::Counter, std::move(labels)).counter.value = value;
}

void MetricFamilies::AddGauge(const MetricName& name, MetricLabels labels,
                              double value) {
  Add(name, MetricType::Gauge, std::move(labels)).gauge.value = value;
}

void MetricFamilies::AddKnownCounter(const MetricName& name,
                                     MetricLabels labels,
                                     const std::optional<double>& value) {
  if (value.has_value()) {
    AddCounter(name, std::move(labels), *value);
  }
}

void MetricFamilies::AddKnownGauge(const MetricName& name, MetricLabels labels,
                                   const std::optional<double>& value) {
  if (value.has_value()) {
    AddGauge(name, std::move(labels), *value);
  }
}

void MetricFamilies::AddDurations(const MetricName& name, MetricLabels labels,
                                  const DurationHistogram& histogram) {
  ClientMetric::Histogram& out =
      Add(name, MetricType::Histogram, std::move(labels)).histogram;
  // The buckets make the count, so that it is theirs also while one more is
  // being recorded.
  const uint64_t count =
      histogram.CountAtOrBelow(std::numeric_limits<uint64_t>::max());
  if (buckets_ == Buckets::kCounted) {
    AddCounted(histogram, out);
  } else {
    for (double bound : kDurationBounds) {
      const auto nanos =
          static_cast<uint64_t>(std::llround(bound * kNanosPerSecond));
      out.bucket.push_back({histogram.CountAtOrBelow(nanos), bound});
    }
  }
  out.bucket.push_back(Overflow(count));
  out.sample_count = count;
  out.sample_sum = static_cast<double>(histogram.sum()) / kNanosPerSecond;
}

void MetricFamilies::AddRows(const MetricName& name, MetricLabels labels,
                             const std::vector<BatchSizeStatistics>& by_rows) {
  ClientMetric::Histogram& out =
      Add(name, MetricType::Histogram, std::move(labels)).histogram;
  uint64_t batches = 0;
  uint64_t rows_in_all = 0;
  size_t bound = 1;
  for (size_t rows = 1; rows < by_rows.size(); ++rows) {
    batches += by_rows[rows].batches.value();
    rows_in_all += rows * by_rows[rows].batches.value();
    const bool is_last = rows + 1 == by_rows.size();
    if (rows == bound || is_last) {  // powers of two, and max_batch_size
      out.bucket.push_back({batches, static_cast<double>(rows)});
      bound *= 2;
    }
  }
  out.bucket.push_back(Overflow(batches));
  out.sample_count = batches;
  out.sample_sum = static_cast<double>(rows_in_all);
}

}  // namespace ferry
