// DeviceMetrics exports what the device measures of itself as Prometheus
// metrics. The device is read on a thread of its own, twice a second, and a
// scrape has the last reading: NVML may keep a call for long, as after an Xid,
// and what serves the metrics serves health, too.
//
// ferry_device_* and ferry_gpm_* are of the device itself. ferry_gpu_* are of
// the whole GPU, labelled with its UUID: the processes on its slices all show
// the same watts, so take their maximum by uuid, not their sum.
//
// Thread safety: thread-safe.
// Invariants: what the device does not tell has no sample, and never 0; a
// reading that is older than kOldest has none either, and
// ferry_device_reading_age_seconds says how old it is; each failed call counts
// in ferry_nvml_errors_total.
#ifndef FERRY_SERVER_METRICS_DEVICE_METRICS_H_
#define FERRY_SERVER_METRICS_DEVICE_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/background_call.h"
#include "base/clock.h"
#include "models/nvml/device_choice.h"
#include "models/nvml/device_sampler.h"
#include "models/nvml/library.h"

namespace ferry {

class DeviceMetrics final : public prometheus::Collectable {
 public:
  static constexpr Duration kOldest = std::chrono::seconds(5);

  // `read` reads the device, and owns what it uses; the others outlive this.
  DeviceMetrics(const nvml::Library& library, const nvml::DeviceChoice& choice,
                std::function<nvml::DeviceReadings()> read,
                const Clock& clock = Clock::Steady())
      : library_(library),
        choice_(choice),
        clock_(clock),
        made_(clock.Now()),
        readings_("ferry-nvml", std::move(read), clock) {}

  // Begins to read the device anew, unless it is being read, and waits so long
  // for what it tells. To be called from time to time.
  void Refresh(Duration at_most) { readings_.AskFor(at_most); }

  std::vector<prometheus::MetricFamily> Collect() const override;

  const nvml::DeviceChoice& choice() const { return choice_; }
  // What was read last; nothing where that is older than kOldest.
  std::optional<nvml::DeviceReadings> readings() const;

 private:
  const nvml::Library& library_;
  const nvml::DeviceChoice& choice_;
  const Clock& clock_;
  const TimePoint made_;
  BackgroundCall<nvml::DeviceReadings> readings_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_DEVICE_METRICS_H_
