// The policies `eager` and `window`.
#include "batcher/batch_policy.h"

#include <array>

namespace ferry {
namespace {

// Returns why a batch that cannot grow closes, or `otherwise` for one that can.
CloseReason ReasonFor(Growth growth, CloseReason otherwise) {
  switch (growth) {
    case Growth::kFull:
      return CloseReason::kFull;
    case Growth::kShape:
      return CloseReason::kShape;
    case Growth::kDrained:
      return CloseReason::kDrain;
    case Growth::kOpen:
      break;
  }
  return otherwise;
}

// Returns when the oldest request has waited for max_wait.
TimePoint LeaveAt(const QueueState& queue) {
  return queue.max_wait < kNever - queue.oldest_arrival
             ? queue.oldest_arrival + queue.max_wait
             : kNever;
}

class EagerPolicy final : public BatchPolicy {
 public:
  Decision Decide(const QueueState& queue, const LaneState& lanes,
                  TimePoint) const override {
    if (lanes.free_slots == 0) {
      return Wait{};
    }
    if (queue.rows == 0) {
      return Wait{.wake_at_rows = 1};
    }
    return Dispatch{ReasonFor(queue.growth, CloseReason::kLaneFree)};
  }
};

class WindowPolicy final : public BatchPolicy {
 public:
  Decision Decide(const QueueState& queue, const LaneState& lanes,
                  TimePoint now) const override {
    if (lanes.free_slots == 0) {
      return Wait{};
    }
    if (queue.rows == 0) {
      return Wait{.wake_at_rows = 1};
    }
    const TimePoint leave_at = LeaveAt(queue);
    if (queue.growth == Growth::kOpen && now < leave_at) {
      return Wait{.until = leave_at, .wake_at_rows = queue.full_at_rows};
    }
    return Dispatch{ReasonFor(queue.growth, CloseReason::kMaxWait)};
  }
};

constexpr std::array<const char*, 2> kNames = {"eager", "window"};

}  // namespace

const char* PolicyName(PolicyKind kind) {
  return kNames[static_cast<size_t>(kind)];
}

std::optional<PolicyKind> ParsePolicy(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) {
      return static_cast<PolicyKind>(i);
    }
  }
  return std::nullopt;
}

std::unique_ptr<const BatchPolicy> MakePolicy(PolicyKind kind) {
  if (kind == PolicyKind::kWindow) {
    return std::make_unique<WindowPolicy>();
  }
  return std::make_unique<EagerPolicy>();
}

}  // namespace ferry
