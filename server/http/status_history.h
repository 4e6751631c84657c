// StatusHistory keeps what the live page shows: a sample each 5 s of the last
// 15 minutes, of each model that is served and of the device, and tells it as
// /status.json (docs/status.schema.json).
//
// A rate is that of its 5 s; a quantile is of the requests that were answered
// in them. No number (NaN, null in JSON) stands for what is not known.
//
// Thread safety: Look() from one thread at a time, ToJson() from any.
#ifndef FERRY_SERVER_HTTP_STATUS_HISTORY_H_
#define FERRY_SERVER_HTTP_STATUS_HISTORY_H_

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "batcher/statistics.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/control/repository_index.h"
#include "server/metrics/device_metrics.h"

namespace ferry {

class StatusHistory {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds(5);
  static constexpr size_t kSamples = 180;

  // All outlive it; `device` may be null.
  StatusHistory(const ModelTable& models, const Readiness& readiness,
                const DeviceMetrics* device)
      : models_(models), readiness_(readiness), device_(device) {}

  // Takes a sample where the last one is a period old. To be called more often.
  void Look(TimePoint now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the whole history, and what is known of now, as of `versions`,
  // those that are not served among them.
  std::string ToJson(const RepositoryIndex::Entries& versions) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct ModelSample {
    double arrived_rows_per_second = kUnknown;
    double requests_per_second = kUnknown;  // that got a result
    double errors_per_second = kUnknown;
    double refused_per_second = kUnknown;
    double p50_ms = kUnknown;
    double p99_ms = kUnknown;
    double load = kUnknown;
    double busy = kUnknown;
    double rows_per_batch = kUnknown;
    double queued_requests = kUnknown;
    std::array<double, kCloseReasonCount> closed_per_second{};

    ModelSample() { closed_per_second.fill(kUnknown); }
  };
  struct DeviceSample {
    double busy = kUnknown;
    double sm = kUnknown;
    double memory_used_bytes = kUnknown;
    double power_watts = kUnknown;
    double temperature_celsius = kUnknown;
  };
  using Key = std::pair<std::string, std::string>;  // name, version

  struct History {
    // All are as long as this, oldest first.
    std::deque<TimePoint> times;
    std::deque<DeviceSample> device;
    std::map<Key, std::deque<ModelSample>> models;  // those that are served
  };

  // `last`: what was counted a period before; null: it is not known.
  static ModelSample SampleOf(const CountedVersion& version,
                              const ModelCounts* last, double seconds);
  static nlohmann::json Columns(const std::deque<ModelSample>& samples);
  DeviceSample ReadDevice() const;
  nlohmann::json DeviceFacts(const std::deque<DeviceSample>& samples) const;

  const ModelTable& models_;
  const Readiness& readiness_;
  const DeviceMetrics* const device_;  // or null

  // The thread of Look() only.
  std::optional<TimePoint> last_look_;
  std::map<Key, ModelCounts> last_counts_;

  mutable Mutex mutex_;
  History history_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_STATUS_HISTORY_H_
