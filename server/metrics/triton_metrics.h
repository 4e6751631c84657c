// TritonMetrics() tells what the server and its device count by the names,
// units and meanings of Triton's metrics (its user guide, "Metrics"), for
// dashboards and scalers that were made for those.
//
// Thread safety: a free function.
#ifndef FERRY_SERVER_METRICS_TRITON_METRICS_H_
#define FERRY_SERVER_METRICS_TRITON_METRICS_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "server/control/model_table.h"
#include "server/metrics/device_metrics.h"

namespace ferry {

// `device` may be null: then there is no nv_gpu_*. Durations are sums in
// microseconds over the requests that got a result; counters are those of
// ModelStatistics. Memory and utilization are of the device that the process
// serves on, power and energy of the whole GPU.
std::vector<prometheus::MetricFamily> TritonMetrics(
    const ModelTable& models, const DeviceMetrics* device);

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_TRITON_METRICS_H_
