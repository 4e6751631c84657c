// FenceLog tells the log what the fence has ended and refused: at most once a
// minute, however many clients flood.
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

  // `counts`: since the process began.
  void Look(const FenceCounts& counts, TimePoint now);

 private:
  // What the log was told last.
  uint64_t ended_ = 0;
  uint64_t refused_ = 0;
  std::optional<TimePoint> told_at_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_NET_FENCE_LOG_H_
