// DrainServer() has a running server drain, and waits until it is gone.
//
// Thread safety: a free function.
#ifndef FERRY_DEPLOY_CTL_DRAIN_WATCH_H_
#define FERRY_DEPLOY_CTL_DRAIN_WATCH_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "bench/client/connection.h"

namespace ferry::ctl {

enum class ServerEnd : uint8_t {
  kGone,        // takes no connection any more
  kReplaced,    // another one that is ready takes them
  kLost,        // is gone, was ready, and has not said that it drains
  kUnseen,      // is gone, and was not ready before it was told to drain
  kStillThere,  // at the end of the wait
};

// Calls `drain` once, when the server's health is watched, and `tell` once,
// when the server is not ready any more; waits until `until` at most. Errors:
// those of `drain`; UNAVAILABLE and DEADLINE_EXCEEDED where the server did not
// answer before that; a call's status other than of a server that goes.
absl::StatusOr<ServerEnd> DrainServer(
    const std::string& address, const bench::ConnectionOptions& connection,
    TimePoint until, absl::FunctionRef<absl::Status()> drain,
    absl::FunctionRef<void()> tell);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_DRAIN_WATCH_H_
