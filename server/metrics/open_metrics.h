// ToOpenMetricsText() writes metric families as OpenMetrics 1.0; a scraper says
// in its Accept header whether it wants that, or Prometheus's text 0.0.4.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_METRICS_OPEN_METRICS_H_
#define FERRY_SERVER_METRICS_OPEN_METRICS_H_

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "server/trace/tracer.h"

namespace ferry {

inline constexpr char kOpenMetricsText[] =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Whether the header names OpenMetrics of a version that is written here with
// no less weight than other text (RFC 9110, 12.4.2 and 12.5.1). What cannot be
// read of it, and an empty one, asks for nothing.
bool PrefersOpenMetrics(absl::string_view accept);

// Returns what exemplars there are of a model's version, in any order.
using ExemplarsOf = absl::FunctionRef<std::vector<Exemplar>(
    const std::string& model, const std::string& version)>;

// Returns the whole exposition, with its end. A counter that is not named
// ..._total keeps its name, and is of type unknown. Each bucket of
// ferry_request_seconds that has requests has the newest exemplar of its model
// and version that lies in it, where there is one.
std::string ToOpenMetricsText(
    const std::vector<prometheus::MetricFamily>& families,
    ExemplarsOf exemplars_of);

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_OPEN_METRICS_H_
