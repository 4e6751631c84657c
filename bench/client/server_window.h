// ServerWindow holds what a server counted around a measured window: where the
// time of requests went, rows of its batches, why they closed, and the busy
// ratio of the device.
//
// The busy ratio is the time instances computed / wall time / instances. It
// comes from `ferry_compute_busy_seconds_total` of the metrics where there were
// any, else from the compute_infer times of ModelStatistics' batch_stats.
//
// Thread safety: pure functions over values.
// Errors: what a server does not count is absent, which is no error.
#ifndef FERRY_BENCH_CLIENT_SERVER_WINDOW_H_
#define FERRY_BENCH_CLIENT_SERVER_WINDOW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "bench/device/device_summary.h"

namespace ferry::bench {

// Sums over the instances of one model, since the server started.
struct BusySeconds {
  double seconds = 0;
  int32_t instances = 0;
};

// Returns the sum of the samples of ferry_compute_busy_seconds_total for
// `model` in a page of Prometheus text; nothing without such samples.
std::optional<BusySeconds> ParseBusySeconds(absl::string_view page,
                                            absl::string_view model);

// Batches by why they closed: "full", "max_wait".
using CloseReasons = std::map<std::string, uint64_t>;

// Returns the samples of ferry_batches_closed_total for `model`, its versions
// added up; empty without any.
CloseReasons ParseCloseReasons(absl::string_view page, absl::string_view model);

// How many of the requests that were answered with OK had that part, and the
// time of it in all.
struct RequestTime {
  uint64_t count = 0;
  uint64_t ns = 0;
};

struct ServerCounters {
  TimePoint metrics_at;     // of `closed` and `busy`
  TimePoint statistics_at;  // of all others
  bool has_statistics = false;
  uint64_t rows = 0;        // inference_count
  uint64_t executions = 0;  // execution_count
  uint64_t compute_ns = 0;  // of executions
  RequestTime queue;
  RequestTime compute_input;
  RequestTime compute_infer;
  RequestTime compute_output;
  std::map<uint64_t, uint64_t> batches;  // executions by rows
  CloseReasons closed;
  std::optional<BusySeconds> busy;
};

// Means over the requests of a window, in microseconds.
struct ServerTimes {
  double queue_us = 0;
  double compute_input_us = 0;
  double compute_infer_us = 0;
  double compute_output_us = 0;
};

// A busy ratio above it is no measurement: the time between two readings is not
// known, or the instances are not those that were counted. From 1 on it is 1.
inline constexpr double kMostBusy = 1.02;

struct ServerWindow {
  std::optional<double> mean_rows;   // of a batch
  std::optional<double> busy_ratio;  // 0..1; nothing where it came out as more
                                     // than kMostBusy
  std::string busy_source;           // "metrics", "ModelStatistics" or ""
  std::optional<ServerTimes> times;
  std::map<uint64_t, uint64_t> batches;  // executions by rows; those there were
  CloseReasons closed;                   // those there were
  std::optional<DeviceSummary> device;   // DeviceWatch's
};

// Returns what happened between the two; nothing of what a server does not
// count, nor where it was started anew in between. `instances` is for
// ModelStatistics; 0: not known, so it gives no busy ratio.
ServerWindow Difference(const ServerCounters& begin, const ServerCounters& end,
                        int32_t instances);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_SERVER_WINDOW_H_
