// MetricsReading is what one page of a ferry-server's metrics says of its use;
// PageRecorder makes samples of them.
//
// Thread safety: thread-compatible.
// Invariants: what a page does not say is absent, never 0.
#ifndef FERRY_DEPLOY_CTL_METRICS_READING_H_
#define FERRY_DEPLOY_CTL_METRICS_READING_H_

#include <cstddef>
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

// Makes a recording of pages that are read one a period. Load, busy, requests
// and shares of batches are differences of counters over the time between two
// pages; pages that did not come in between are bridged, as counters lose
// nothing. They are absent where the server began anew in between, a counter
// fell or is gone, the time is more than five periods, or, of a share, there
// was nothing to have one of. Load is the sum over the models of rows that
// arrived a second / capacity (docs/load.md), busy the seconds of all instances
// over their number, requests under way their seconds a second (Little's law).
// What a page says of its moment is of its period alone.
class PageRecorder {
 public:
  // `first` is the page that the first period begins with.
  PageRecorder(std::optional<MetricsReading> first, double period_s,
               const DeviceLink& link);

  // Appends a period with the page at its end; nothing stands for one that did
  // not come.
  void Add(std::optional<MetricsReading> page);

  const plan::Recording& recording() const { return recording_; }

 private:
  const DeviceLink link_;
  std::optional<MetricsReading> last_;  // that came
  size_t missed_ = 0;                   // since then
  plan::Recording recording_;
};

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_METRICS_READING_H_
