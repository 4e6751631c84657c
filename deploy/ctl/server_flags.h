// ServerFlags holds what reaches a running server, as typed: its address, TLS,
// a token.
//
// Thread safety: plain values and functions over them.
#ifndef FERRY_DEPLOY_CTL_SERVER_FLAGS_H_
#define FERRY_DEPLOY_CTL_SERVER_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "bench/client/connection.h"
#include "deploy/ctl/http_source.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::ctl {

struct ServerFlags {
  std::vector<std::string> addresses = {};
  HttpFiles http = {};
  bench::ConnectionFlags connection = {};  // what is not in `http`
  double timeout_s = 5;  // what --timeout-secs says unless given

  Duration timeout() const;
};

// Adds the flags of a command that asks the metrics ports of servers, by HTTP.
// `flags` outlives the command.
void AddPageFlags(CLI::App& command, ServerFlags& flags);

// The same of a command that calls one server by gRPC.
void AddCallFlags(CLI::App& command, ServerFlags& flags);

// Returns the servers of the addresses. Errors: MakeHttpSource()'s.
absl::StatusOr<std::vector<HttpSource>> ReadSources(const ServerFlags& flags);

// Reads the files; the token becomes a header. Errors: INVALID_ARGUMENT for
// what is in them, NOT_FOUND where there is none.
absl::StatusOr<bench::ConnectionOptions> ReadConnection(
    const ServerFlags& flags);

// Returns a failed call's status with the address, and what to do. UNAVAILABLE:
// the server did not answer; FAILED_PRECONDITION: it does not offer the call.
absl::Status OfCall(const absl::Status& status, const ServerFlags& flags);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_SERVER_FLAGS_H_
