// ServerLook is what the pages of a running server say of one moment; LookAt()
// fetches them from each server.
//
// Thread safety: plain values and free functions.
// Errors of a look: those of GetServerPage() and ParseLook().
#ifndef FERRY_DEPLOY_CTL_SERVER_LOOK_H_
#define FERRY_DEPLOY_CTL_SERVER_LOOK_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "deploy/ctl/http_source.h"

namespace ferry::ctl {

// A version that the server knows. Nothing stands for what is not known, as of
// one that is not served.
struct VersionLook {
  std::string name;
  std::string version = {};         // empty: none is or was loaded
  std::string state;                // "READY", as the server's index has it
  std::string reason = {};          // why it is not served, or not replaced
  std::optional<double> load = {};  // of the last 5 s; 1: all that it carries
  std::optional<double> queued_requests = {};
  // Over the last period of 5 s.
  std::optional<double> requests_per_second = {};
  std::optional<double> refused_per_second = {};
  std::optional<double> p50_ms = {};
  std::optional<double> p99_ms = {};
  std::optional<double> rows_per_batch = {};
};

struct DeviceLook {
  std::string name;
  std::string profile = {};                 // of a MIG slice; else empty
  std::optional<double> busy_ratio = {};    // had work, 0-1
  std::optional<double> sm_ratio = {};      // multiprocessors that had
  std::optional<double> memory_bytes = {};  // used
  std::optional<double> memory_total_bytes = {};
  std::optional<double> power_watts = {};
  std::optional<double> temperature_celsius = {};
};

struct ServerLook {
  std::string address;
  absl::Status failure = {};  // why no page was read; then all else is empty
  std::string server_version = {};
  std::string state = {};  // "ready", "draining", as /status.json has it
  bool is_ready = false;
  double start_s = 0;  // since the epoch
  std::vector<VersionLook> versions = {};
  std::map<std::string, double> refusals = {};  // by reason, since its start
  std::optional<DeviceLook> device = {};        // nothing on the CPU
};

// Reads /status.json and /metrics of one server. FAILED_PRECONDITION where they
// are not a ferry-server's.
absl::StatusOr<ServerLook> ParseLook(const std::string& address,
                                     const std::string& status_page,
                                     const std::string& metrics_page);

// Looks at those servers, at all at once. One whose pages are not to be had is
// a look that says so.
std::vector<ServerLook> LookAt(const std::vector<HttpSource>& servers,
                               Duration timeout);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_SERVER_LOOK_H_
