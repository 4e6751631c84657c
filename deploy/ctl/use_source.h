// UseSource is where a command has what a device computed from: a running
// server, or a Prometheus that has scraped it.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT where not one of the two is given, or a flag is
// wrong; FAILED_PRECONDITION for a page that is not as expected; those of
// GetServerPage(), FindServer() and QueryNow().
#ifndef FERRY_DEPLOY_CTL_USE_SOURCE_H_
#define FERRY_DEPLOY_CTL_USE_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "deploy/ctl/allocate_answer.h"
#include "deploy/ctl/http_source.h"
#include "deploy/ctl/prometheus_client.h"
#include "deploy/ctl/prometheus_recording.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::ctl {

struct UseFlags {
  std::string address;     // of a server's metrics
  std::string prometheus;  // a URL
  PrometheusWindow window;
};

// `flags` outlives the parsing.
void AddUseFlags(CLI::App& command, UseFlags& flags);

// Returns the use of a server since its process began, or that of a window,
// which ends now by Prometheus' clock, one of a day or longer with a whole
// hour. A window begins no earlier than the series of the server.
absl::StatusOr<MeasuredUse> ReadUse(const UseFlags& flags,
                                    const HttpFiles& http);

// What a page of /metrics says of the use until `now`.
absl::StatusOr<MeasuredUse> UseOfPage(absl::string_view page, absl::Time now);

// What Prometheus answers of a window, each as one query has it.
struct UseSamples {
  std::vector<SeriesSample> models;   // seconds, by model
  std::vector<SeriesSample> clients;  // seconds, by client and model
  std::vector<SeriesSample> devices;  // by uuid
  // Seconds since the epoch at which the series begin: one sample or none.
  std::vector<SeriesSample> begin = {};
};

// Returns the use of the `window_s` seconds that end at `end_s`.
MeasuredUse UseOfSamples(const UseSamples& samples, int64_t end_s,
                         int64_t window_s);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_USE_SOURCE_H_
