// Prometheus' HTTP API: QueryNow() asks for samples of this moment,
// QueryRange() for those of a time.
//
// Thread safety: free functions over values.
// Errors: UNAVAILABLE where Prometheus does not answer, or answers an error,
// with its own words; those of GetPage().
#ifndef FERRY_DEPLOY_CTL_PROMETHEUS_CLIENT_H_
#define FERRY_DEPLOY_CTL_PROMETHEUS_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/recording.h"
#include "deploy/ctl/http_source.h"

namespace ferry::ctl {

// Prometheus refuses a range of more steps.
inline constexpr size_t kMostSteps = 11'000;

struct SeriesSample {
  std::map<std::string, std::string> labels;
  double value = 0;

  // Returns the label's value; "" where there is none, as in Prometheus.
  std::string Label(const std::string& name) const;
};

// Steps at begin_s, begin_s + step_s, ...; seconds since the epoch.
struct TimeRange {
  int64_t begin_s = 0;
  int64_t step_s = 1;
  size_t steps = 0;

  // Returns the last step.
  int64_t end_s() const {
    return begin_s + step_s * (static_cast<int64_t>(steps) - 1);
  }
};

// Returns the time that Prometheus has, in seconds since the epoch.
absl::StatusOr<int64_t> AskTime(const HttpSource& source);

// Returns the samples of an expression.
absl::StatusOr<std::vector<SeriesSample>> QueryNow(const HttpSource& source,
                                                   const std::string& query);

// Returns one value a step of an expression that is one series at most; nothing
// for a step that has no sample, or what no recording takes.
absl::StatusOr<plan::Samples> QueryRange(const HttpSource& source,
                                         const std::string& query,
                                         const TimeRange& range);

// What these make of an answer; `name` begins each message.
absl::StatusOr<std::vector<SeriesSample>> ParseNow(const HttpReply& reply,
                                                   const std::string& name);
absl::StatusOr<plan::Samples> ParseRange(const HttpReply& reply,
                                         const TimeRange& range,
                                         const std::string& name);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_PROMETHEUS_CLIENT_H_
