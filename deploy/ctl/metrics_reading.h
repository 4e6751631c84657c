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
  // What recordings are made of, by the names of the metrics.
  std::map<std::string, LabelledValues> values;
};

// Errors: FAILED_PRECONDITION where the page is not that of a ferry-server.
absl::Status CheckPage(absl::string_view page);

// Errors: those of CheckPage().
absl::StatusOr<MetricsReading> ReadMetrics(absl::string_view page,
                                           TimePoint at);

// What a page does not say of a device.
struct DeviceLink {
  // Bytes that can be copied to it a second, as measured; 0: not known.
  double bytes_per_second = 0;
};

// Appends the period between two readings; nothing stands for a page that did
// not come. Load, busy, requests and shares of batches are differences of
// counters over the time between the pages, absent where the server began anew
// in it, a counter fell or is gone, the time is more than two periods, or, of a
// share, there was nothing to have one of. Load is the sum over the models of
// rows that arrived a second / capacity (docs/load.md), busy the seconds of all
// instances over their number, requests under way their seconds a second
// (Little's law).
void AppendPeriod(const std::optional<MetricsReading>& from,
                  const std::optional<MetricsReading>& to,
                  const DeviceLink& link, plan::Recording& recording);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_METRICS_READING_H_
