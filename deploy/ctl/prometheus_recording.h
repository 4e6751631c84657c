// RecordFromPrometheus() makes a Recording of what Prometheus keeps of one
// ferry-server.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found;
// NOT_FOUND where Prometheus has no series of a ferry-server,
// FAILED_PRECONDITION where none of these has a sample; those of QueryRange().
#ifndef FERRY_DEPLOY_CTL_PROMETHEUS_RECORDING_H_
#define FERRY_DEPLOY_CTL_PROMETHEUS_RECORDING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/recording.h"
#include "deploy/ctl/http_source.h"
#include "deploy/ctl/metrics_reading.h"
#include "deploy/ctl/prometheus_client.h"

namespace ferry::ctl {

struct PrometheusWindow {
  int64_t window_s = 7 * 24 * 3600;
  // Nothing: a minute, or as many as keep to Prometheus' limit.
  std::optional<int64_t> step_s = std::nullopt;
  std::vector<std::string> labels;  // "NAME=VALUE", of the server to look at
};

// Returns the window's last steps before `now_s`; those of a day or longer end
// with a whole hour, so that hours of the recording are hours of the clock.
absl::StatusOr<TimeRange> RangeOf(const PrometheusWindow& window,
                                  int64_t now_s);

// Returns matchers of PromQL, a="x",b="y", of "a=x" and "b=y".
absl::StatusOr<std::string> SelectorOf(const std::vector<std::string>& labels);

// Returns matchers of the one server that the labels leave of those that were
// there in the window. Two of one job and instance at once, as of two clusters,
// are two; one whose other labels changed is one.
absl::StatusOr<std::string> FindServer(const HttpSource& source,
                                       const PrometheusWindow& window);

struct NamedRecording {
  plan::Recording recording;
  std::string source;  // for people
};

// Load is the sum of `ferry_load_ratio` over the models of the server, busy the
// seconds that its instances computed over their number; a step without samples
// is a gap. Shares and power are
// means of a step, memory its highest; rates are over two steps, so that
// nothing falls between the scrapes of one and the next.
absl::StatusOr<NamedRecording> RecordFromPrometheus(
    const HttpSource& source, const PrometheusWindow& window,
    const DeviceLink& link);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_PROMETHEUS_RECORDING_H_
