// PointDetails: what a point of a results document says of server, histogram
// and device. Each part is there or not, by what the server and the device
// told. Read from the document that the page carries, so that tables and charts
// have one source.
//
// Thread safety: plain values; functions of their arguments.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_REPORT_POINT_DETAILS_H_
#define FERRY_BENCH_REPORT_POINT_DETAILS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferry::bench {

// Latency of successes from the planned send.
struct LatencyBucket {
  uint64_t highest_ns = 0;
  uint64_t count = 0;
};

struct PointDetails {
  // Means of a request over the window, by the server's own clock.
  std::optional<double> queue_us;
  std::optional<double> compute_input_us;
  std::optional<double> compute_infer_us;
  std::optional<double> compute_output_us;
  std::map<int64_t, uint64_t> batches;            // executions by rows
  std::map<std::string, uint64_t> close_reasons;  // batches by why they left
  std::vector<LatencyBucket> buckets;             // ascending
  std::string device;                             // its name
  std::optional<double> utilization;              // [0, 1], of the device
  std::optional<double> memory_used_bytes;
  std::optional<double> power_w;

  bool has_times() const;   // any of the four means
  bool has_device() const;  // any number of the device
};

// Returns those of each point of each run of a results document.
absl::StatusOr<std::vector<std::vector<PointDetails>>> ReadDetails(
    const std::string& json);

// Returns the latency in us that a share `q` of (0, 1] of the buckets' requests
// kept; 0 where there are none.
double QuantileUs(const std::vector<LatencyBucket>& buckets, double q);

// Returns the results documents `texts` as one, with all that stands in them,
// also what this version does not read. REQUIRES: each was parsed by
// ParseJson().
std::string JoinJson(const std::vector<std::string>& texts);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_POINT_DETAILS_H_
