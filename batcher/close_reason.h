// CloseReason says why a batch closed; counts of it explain small batches.
#ifndef FERRY_BATCHER_CLOSE_REASON_H_
#define FERRY_BATCHER_CLOSE_REASON_H_

#include <cstddef>
#include <cstdint>

namespace ferry {

enum class CloseReason : uint8_t {
  kFull,          // no further queued request fits
  kInstanceFree,  // an instance was idle and the policy waits for nothing
  kMaxWait,       // the oldest request had waited max_wait
  kTarget,        // as many rows as the arrival rate needs (adaptive)
  kDeadline,      // a request could not have waited longer (adaptive)
  kDrain,         // no further request can arrive
};
inline constexpr size_t kCloseReasonCount = 6;

// Returns the reason's name in metrics: "full", "instance_free", ...
constexpr const char* CloseReasonName(CloseReason reason) {
  constexpr const char* kNames[kCloseReasonCount] = {
      "full", "instance_free", "max_wait", "target", "deadline", "drain"};
  return kNames[static_cast<size_t>(reason)];
}

}  // namespace ferry

#endif  // FERRY_BATCHER_CLOSE_REASON_H_
