// DeviceMetrics exports what the device measures of itself as Prometheus
// metrics, and reads the device at each scrape, on a thread of its own: NVML
// may keep a call for long, as after an Xid, and what serves the metrics serves
// health, too. A scrape waits kMaxWait for it; while the reading of an earlier
// one has not returned, the next do not wait at all.
//
// ferry_device_* and ferry_gpm_* are of the device itself. ferry_gpu_* are of
// the whole GPU, labelled with its UUID: the processes on its slices all show
// the same watts, so take their maximum by uuid, not their sum.
//
// Thread safety: Collect() from any thread.
// Invariants: what the device does not tell has no sample, never 0 and never an
// older value, also where it does not tell it in time, of which
// ferry_nvml_hang_seconds is the proof; each failed call counts in
// ferry_nvml_errors_total.
#ifndef FERRY_SERVER_METRICS_DEVICE_METRICS_H_
#define FERRY_SERVER_METRICS_DEVICE_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "base/background_call.h"
#include "models/nvml/device_choice.h"
#include "models/nvml/device_sampler.h"
#include "models/nvml/library.h"

namespace ferry {

class DeviceMetrics final : public prometheus::Collectable {
 public:
  // How long a reading may take to be in the scrape that asked for it.
  static constexpr Duration kMaxWait = std::chrono::milliseconds(250);

  // `read` reads the device, and owns what it uses; the others outlive this.
  DeviceMetrics(const nvml::Library& library, const nvml::DeviceChoice& choice,
                std::function<nvml::DeviceReadings()> read,
                const Clock& clock = Clock::Steady())
      : library_(library),
        choice_(choice),
        readings_("ferry-nvml", std::move(read), clock) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const nvml::Library& library_;
  const nvml::DeviceChoice& choice_;
  mutable BackgroundCall<nvml::DeviceReadings> readings_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_DEVICE_METRICS_H_
