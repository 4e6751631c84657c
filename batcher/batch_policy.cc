// Implements the policies `eager`, `window` and `adaptive`, and TargetRows().
#include "batcher/batch_policy.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ferry {
namespace {

// Returns why a batch that cannot grow closes, or `otherwise` for one that can.
CloseReason ReasonFor(Growth growth, CloseReason otherwise) {
  switch (growth) {
    case Growth::kFull:
      return CloseReason::kFull;
    case Growth::kDrained:
      return CloseReason::kDrain;
    case Growth::kOpen:
      break;
  }
  return otherwise;
}

// Returns what to wait for while no batch can close, or nothing.
std::optional<Wait> Blocked(const QueueState& queue,
                            const InstanceState& instance, TimePoint now) {
  if (now < instance.ready_at) {
    if (instance.takes_full_early && queue.growth == Growth::kFull) {
      return std::nullopt;
    }
    return Wait{.until = instance.ready_at,
                .wake_at_rows = instance.takes_full_early ? queue.full_at_rows
                                                          : Wait::kNoRows};
  }
  if (queue.rows == 0) {
    return Wait{.wake_at_rows = 1};
  }
  return std::nullopt;
}

// Returns when the oldest request has waited for max_wait.
TimePoint LeaveAt(const QueueState& queue) {
  return queue.max_wait < kNever - queue.oldest_arrival
             ? queue.oldest_arrival + queue.max_wait
             : kNever;
}

class EagerPolicy final : public BatchPolicy {
 public:
  Decision Decide(const QueueState& queue, const InstanceState& instance,
                  const Forecast&, TimePoint now) const override {
    if (const std::optional<Wait> wait = Blocked(queue, instance, now)) {
      return *wait;
    }
    return Dispatch{ReasonFor(queue.growth, CloseReason::kInstanceFree)};
  }
};

class WindowPolicy final : public BatchPolicy {
 public:
  Decision Decide(const QueueState& queue, const InstanceState& instance,
                  const Forecast&, TimePoint now) const override {
    if (const std::optional<Wait> wait = Blocked(queue, instance, now)) {
      return *wait;
    }
    const TimePoint leave_at = LeaveAt(queue);
    if (queue.growth == Growth::kOpen && now < leave_at) {
      return Wait{.until = leave_at, .wake_at_rows = queue.full_at_rows};
    }
    return Dispatch{ReasonFor(queue.growth, CloseReason::kMaxWait)};
  }
};

class AdaptivePolicy final : public BatchPolicy {
 public:
  bool looks_ahead() const override { return true; }

  Decision Decide(const QueueState& queue, const InstanceState& instance,
                  const Forecast& forecast, TimePoint now) const override {
    if (const std::optional<Wait> wait = Blocked(queue, instance, now)) {
      return *wait;
    }
    const int32_t target = TargetRows(forecast, queue.max_batch_size);
    const TimePoint leave_at = LeaveAt(queue);
    if (queue.growth != Growth::kOpen || queue.rows >= target) {
      return Dispatch{ReasonFor(queue.growth, CloseReason::kTarget)};
    }
    if (now >= leave_at) {
      return Dispatch{CloseReason::kMaxWait};
    }
    if (now >= queue.latest_start) {
      return Dispatch{CloseReason::kDeadline};
    }
    return Wait{.until = std::min(leave_at, queue.latest_start),
                .wake_at_rows = std::min(target, queue.full_at_rows)};
  }
};

constexpr std::array<const char*, 3> kNames = {"eager", "window", "adaptive"};

}  // namespace

int32_t TargetRows(const Forecast& forecast, int32_t max_batch_size) {
  // Rows that come while an instance computes for that long, at the target.
  const auto rows_of = [&](double service_ns) {
    return forecast.rows_per_ns * service_ns /
           (kBusyTarget * forecast.instances);
  };
  const auto rounded = [&](double rows) {
    return std::clamp(static_cast<int32_t>(std::ceil(rows)), 1, max_batch_size);
  };
  const ServiceTimeLine& line = forecast.service;
  for (const int32_t bucket : forecast.buckets) {
    const double rows = rows_of(line.alpha_ns + line.beta_ns * bucket);
    if (rows <= std::min(bucket, max_batch_size)) {
      return rounded(rows);
    }
  }
  // Solved for b: b >= rows_of(alpha + beta * b).
  const double spare = 1 - rows_of(line.beta_ns);
  const double work = rows_of(line.alpha_ns);
  return !forecast.buckets.empty() || work >= spare * max_batch_size
             ? max_batch_size
             : rounded(work / spare);
}

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

const BatchPolicy& GetPolicy(PolicyKind kind) {
  static const EagerPolicy eager;
  static const WindowPolicy window;
  static const AdaptivePolicy adaptive;
  switch (kind) {
    case PolicyKind::kWindow:
      return window;
    case PolicyKind::kAdaptive:
      return adaptive;
    case PolicyKind::kEager:
      break;
  }
  return eager;
}

}  // namespace ferry
