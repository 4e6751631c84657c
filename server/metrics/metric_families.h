// MetricFamilies collects samples into Prometheus metric families by name.
//
// Thread safety: thread-compatible.
#ifndef FERRY_SERVER_METRICS_METRIC_FAMILIES_H_
#define FERRY_SERVER_METRICS_METRIC_FAMILIES_H_

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "batcher/statistics.h"

namespace ferry {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

// What a family is called and says.
struct MetricName {
  const char* name;
  const char* help;
};

// Buckets of durations: kCommon has a few bounds, the same for all, as a
// database wants; kCounted has those in which they are counted, 1/16 wide, for
// a client that takes quantiles of the difference between two moments.
enum class Buckets : uint8_t { kCommon, kCounted };

class MetricFamilies {
 public:
  explicit MetricFamilies(Buckets buckets) : buckets_(buckets) {}

  void AddCounter(const MetricName& name, MetricLabels labels, double value);
  void AddGauge(const MetricName& name, MetricLabels labels, double value);
  // Nothing where there is no value.
  void AddKnownCounter(const MetricName& name, MetricLabels labels,
                       const std::optional<double>& value);
  void AddKnownGauge(const MetricName& name, MetricLabels labels,
                     const std::optional<double>& value);
  // In seconds; the histogram counts nanoseconds.
  void AddDurations(const MetricName& name, MetricLabels labels,
                    const DurationHistogram& histogram);
  // Batches by their rows.
  void AddRows(const MetricName& name, MetricLabels labels,
               const std::vector<BatchSizeStatistics>& by_rows);

  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  prometheus::ClientMetric& Add(const MetricName& name,
                                prometheus::MetricType type,
                                MetricLabels labels);

  const Buckets buckets_;
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_METRIC_FAMILIES_H_
