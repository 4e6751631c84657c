// AwaitServerEnd() waits until a server that was told to drain is gone.
//
// Thread safety: a free function.
#ifndef FERRY_DEPLOY_CTL_DRAIN_WATCH_H_
#define FERRY_DEPLOY_CTL_DRAIN_WATCH_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "bench/client/connection.h"

namespace ferry::ctl {

enum class ServerEnd : uint8_t {
  kGone,        // takes no connection any more
  kReplaced,    // another one that is ready takes them
  kStillThere,  // at the end of the wait
};

// Waits until `until` at most. `tell` is called once, when the server is not
// ready any more. Errors: a call's status other than of a server that goes.
absl::StatusOr<ServerEnd> AwaitServerEnd(
    const std::string& address, const bench::ConnectionOptions& connection,
    TimePoint until, absl::FunctionRef<void()> tell);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_DRAIN_WATCH_H_
