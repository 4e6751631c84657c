// ToTimePoint() turns a deadline of gRPC into a moment of Ferry's clock.
//
// Thread safety: a function of its argument.
#ifndef FERRY_SERVER_GRPC_GRPC_DEADLINE_H_
#define FERRY_SERVER_GRPC_GRPC_DEADLINE_H_

#include <grpc/support/time.h>

#include "base/clock.h"

namespace ferry {

// kNever where there is none. gRPC's monotonic clock and ours are
// CLOCK_MONOTONIC.
inline TimePoint ToTimePoint(gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return kNever;
  }
  const gpr_timespec monotonic =
      gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  constexpr int64_t kMaxSeconds = INT64_MAX / kNanosPerSecond - 1;
  if (monotonic.tv_sec >= kMaxSeconds) {
    return kNever;
  }
  return FromNanos(monotonic.tv_sec * kNanosPerSecond + monotonic.tv_nsec);
}

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_GRPC_DEADLINE_H_
