// DeviceMetrics exports what the device measures of itself as Prometheus
// metrics, and reads the device at each scrape.
//
// ferry_device_* and ferry_gpm_* are of the device itself. ferry_gpu_* are of
// the whole GPU, labelled with its UUID: the processes on its slices all show
// the same watts, so take their maximum by uuid, not their sum.
//
// Thread safety: Collect() from any thread.
// Invariants: what the device does not tell has no sample, never 0; each failed
// call counts in ferry_nvml_errors_total.
#ifndef FERRY_SERVER_METRICS_DEVICE_METRICS_H_
#define FERRY_SERVER_METRICS_DEVICE_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "models/nvml/device_choice.h"
#include "models/nvml/device_sampler.h"
#include "models/nvml/library.h"

namespace ferry {

class DeviceMetrics final : public prometheus::Collectable {
 public:
  // All outlive it.
  DeviceMetrics(const nvml::Library& library, const nvml::DeviceChoice& choice,
                nvml::DeviceSampler& sampler)
      : library_(library), choice_(choice), sampler_(sampler) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const nvml::Library& library_;
  const nvml::DeviceChoice& choice_;
  nvml::DeviceSampler& sampler_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_DEVICE_METRICS_H_
