// FetchMetrics() fetches a page of Prometheus text, SamplesOf() takes it apart.
//
// Thread safety: free functions.
// Errors: what is no sample is passed over.
#ifndef FERRY_BENCH_DEVICE_METRICS_PAGE_H_
#define FERRY_BENCH_DEVICE_METRICS_PAGE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ferry::bench {

struct MetricSample {
  absl::string_view name;  // in the page
  std::map<std::string, std::string> labels;
  double value = 0;

  // Returns the label's value; "" where it has no such label.
  std::string Label(const std::string& label) const;
};

// Returns the samples of metrics whose names begin so, in order.
std::vector<MetricSample> SamplesOf(absl::string_view page,
                                    absl::string_view prefix);

// Returns /metrics of host:port. Errors: UNAVAILABLE, with what was found,
// where no page comes within 3 s.
absl::StatusOr<std::string> FetchMetrics(const std::string& address);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_DEVICE_METRICS_PAGE_H_
