// AddProcess() adds what the system knows of the process, by the names that
// Prometheus's own clients use.
//
// Thread safety: a free function.
#ifndef FERRY_SERVER_METRICS_PROCESS_METRICS_H_
#define FERRY_SERVER_METRICS_PROCESS_METRICS_H_

#include "server/metrics/metric_families.h"

namespace ferry {

void AddProcess(MetricFamilies& out);

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_PROCESS_METRICS_H_
