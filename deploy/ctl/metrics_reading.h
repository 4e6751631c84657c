// MetricsReading is what one page of a ferry-server's metrics says of its use;
// AppendPeriod() makes a sample of two of them.
//
// Thread safety: plain values and free functions over them.
// Invariants: what a page does not say is absent, never 0.
#ifndef FERRY_DEPLOY_CTL_METRICS_READING_H_
#define FERRY_DEPLOY_CTL_METRICS_READING_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "bench/plan/recording.h"

namespace ferry::ctl {

// Values of one metric, by its labels.
using LabelledValues = std::map<std::string, double>;

struct MetricsReading {
  TimePoint at;
  std::optional<double> start_s;  // of the process, since the epoch
  LabelledValues arrived_rows;    // counter, by model and version
  LabelledValues capacity;        // rows/s, likewise
  LabelledValues busy_s;          // counter, by instance
  double instances = 0;           // of all models
  LabelledValues requests;        // counter, answered and refused
  std::optional<double> sm;       // share
  std::optional<double> memory;   // share
  std::optional<double> power_w;
};

// Errors: FAILED_PRECONDITION where the page is not that of a ferry-server.
absl::StatusOr<MetricsReading> ReadMetrics(absl::string_view page,
                                           TimePoint at);

// Appends the period between two readings; nothing stands for a page that did
// not come. Load, busy and requests are differences of counters over the time
// between the pages, absent where the server began anew in it, a counter fell
// or is gone, or the time is more than two periods. Load is the sum over the
// models of rows that arrived a second / capacity (docs/load.md), busy the
// seconds of all instances over their number.
void AppendPeriod(const std::optional<MetricsReading>& from,
                  const std::optional<MetricsReading>& to,
                  plan::Recording& recording);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_METRICS_READING_H_
