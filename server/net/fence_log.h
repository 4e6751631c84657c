// FenceLog tells the log which connections were ended as they flooded, or
// refused as there were too many: at most once a minute, however many come.
//
// Thread safety: thread-compatible.
#ifndef FERRY_SERVER_NET_FENCE_LOG_H_
#define FERRY_SERVER_NET_FENCE_LOG_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "server/net/frame_fence.h"

namespace ferry {

class FenceLog {
 public:
  static constexpr Duration kToldAgain = std::chrono::minutes(1);

  // Both counts are since the process began.
  void Look(const FenceCounts& ended_by_reason, uint64_t refused,
            TimePoint now);

 private:
  // What the log was told last.
  uint64_t ended_ = 0;
  uint64_t refused_ = 0;
  std::optional<TimePoint> told_at_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_NET_FENCE_LOG_H_
