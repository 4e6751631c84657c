// Implements the policies `eager`, `window` and `adaptive`.
#include "batcher/batch_policy.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ferry {
namespace {

constexpr std::array<const char*, 3> kNames = {"eager", "window", "adaptive"};

}  // namespace

Decision Decide(PolicyKind kind, const QueueState& queue,
                const InstanceState& instance, const Forecast& forecast,
                TimePoint now) {
  const bool takes_full =
      instance.takes_full_early && queue.growth == Growth::kFull;
  if (now < instance.ready_at && !takes_full) {
    return Wait{.until = instance.ready_at,
                .wake_at_rows = instance.takes_full_early ? queue.full_at_rows
                                                          : Wait::kNoRows};
  }
  if (queue.rows == 0) {
    return Wait{.wake_at_rows = 1};
  }
  if (queue.growth != Growth::kOpen) {
    return Dispatch{queue.growth == Growth::kFull ? CloseReason::kFull
                                                  : CloseReason::kDrain};
  }
  if (kind == PolicyKind::kEager) {
    return Dispatch{CloseReason::kInstanceFree};
  }
  const int32_t target = kind == PolicyKind::kAdaptive
                             ? TargetRows(forecast, queue.max_batch_size)
                             : Wait::kNoRows;
  if (queue.rows >= target) {
    return Dispatch{CloseReason::kTarget};
  }
  const TimePoint leave_at = queue.max_wait < kNever - queue.oldest_arrival
                                 ? queue.oldest_arrival + queue.max_wait
                                 : kNever;
  if (now >= leave_at) {
    return Dispatch{CloseReason::kMaxWait};
  }
  if (now >= queue.latest_start) {
    return Dispatch{CloseReason::kDeadline};
  }
  return Wait{.until = std::min(leave_at, queue.latest_start),
              .wake_at_rows = std::min(target, queue.full_at_rows)};
}

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

}  // namespace ferry
