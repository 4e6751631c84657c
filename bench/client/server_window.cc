// Implements ServerWindow: parses a page of metrics, subtracts two readings.
#include "bench/client/server_window.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/device/metrics_page.h"

namespace ferry::bench {
namespace {

constexpr absl::string_view kBusyMetric = "ferry_compute_busy_seconds_total";
constexpr absl::string_view kClosedMetric = "ferry_batches_closed_total";

// Returns the samples of that metric and model.
std::vector<MetricSample> SamplesOfModel(absl::string_view page,
                                         absl::string_view metric,
                                         absl::string_view model) {
  std::vector<MetricSample> samples = SamplesOf(page, metric);
  std::erase_if(samples, [&](const MetricSample& sample) {
    return sample.name != metric || sample.Label("model") != model;
  });
  return samples;
}

// Returns the mean of the requests between the two, in microseconds.
double MeanUs(const RequestTime& begin, const RequestTime& end) {
  const uint64_t count = end.count - begin.count;
  return count == 0 ? 0
                    : static_cast<double>(end.ns - begin.ns) /
                          static_cast<double>(count) / 1e3;
}

// Returns the counts that grew, by how much.
template <typename Key>
std::map<Key, uint64_t> Grown(const std::map<Key, uint64_t>& begin,
                              const std::map<Key, uint64_t>& end) {
  std::map<Key, uint64_t> grown;
  for (const auto& [key, count] : end) {
    const auto before = begin.find(key);
    const uint64_t had = before == begin.end() ? 0 : before->second;
    if (count > had) {
      grown[key] = count - had;
    }
  }
  return grown;
}

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void TakeBusyRatio(double ratio, const char* source, ServerWindow& window) {
  if (ratio <= kMostBusy) {
    window.busy_ratio = std::min(ratio, 1.0);
    window.busy_source = source;
  }
}

// Takes what ModelStatistics tells.
void TakeStatistics(const ServerCounters& begin, const ServerCounters& end,
                    int32_t instances, ServerWindow& window) {
  const auto executions =
      static_cast<double>(end.executions - begin.executions);
  if (executions > 0) {
    window.mean_rows = static_cast<double>(end.rows - begin.rows) / executions;
  }
  if (instances > 0) {
    TakeBusyRatio(static_cast<double>(end.compute_ns - begin.compute_ns) / 1e9 /
                      instances /
                      Seconds(end.statistics_at - begin.statistics_at),
                  "ModelStatistics", window);
  }
  window.batches = Grown(begin.batches, end.batches);
  if (end.queue.count > begin.queue.count) {
    window.times = {MeanUs(begin.queue, end.queue),
                    MeanUs(begin.compute_input, end.compute_input),
                    MeanUs(begin.compute_infer, end.compute_infer),
                    MeanUs(begin.compute_output, end.compute_output)};
  }
}

}  // namespace

std::optional<BusySeconds> ParseBusySeconds(absl::string_view page,
                                            absl::string_view model) {
  BusySeconds sum;
  for (const MetricSample& sample : SamplesOfModel(page, kBusyMetric, model)) {
    sum.seconds += sample.value;
    ++sum.instances;
  }
  return sum.instances == 0 ? std::nullopt : std::optional(sum);
}

CloseReasons ParseCloseReasons(absl::string_view page,
                               absl::string_view model) {
  CloseReasons reasons;
  for (const MetricSample& sample :
       SamplesOfModel(page, kClosedMetric, model)) {
    if (const std::string reason = sample.Label("reason");
        !reason.empty() && sample.value >= 0) {
      reasons[reason] += static_cast<uint64_t>(sample.value);
    }
  }
  return reasons;
}

ServerWindow Difference(const ServerCounters& begin, const ServerCounters& end,
                        int32_t instances) {
  ServerWindow window;
  const bool has_statistics = begin.has_statistics && end.has_statistics;
  if (has_statistics && (end.executions < begin.executions ||
                         end.compute_ns < begin.compute_ns)) {
    return window;
  }
  if (has_statistics && end.statistics_at > begin.statistics_at) {
    TakeStatistics(begin, end, instances, window);
  }
  if (begin.busy.has_value() && end.busy.has_value() &&
      end.metrics_at > begin.metrics_at &&
      end.busy->seconds >= begin.busy->seconds) {
    TakeBusyRatio((end.busy->seconds - begin.busy->seconds) /
                      end.busy->instances /
                      Seconds(end.metrics_at - begin.metrics_at),
                  "metrics", window);
    window.closed = Grown(begin.closed, end.closed);
  }
  return window;
}

}  // namespace ferry::bench
