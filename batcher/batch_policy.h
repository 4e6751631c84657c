// Decide() says when an open batch leaves by a policy: now, or not before a
// moment or a number of rows.
//
// Pure: values in, a value out; no thread, no clock, no state. It is called
// again whenever something it looks at may have changed.
//
// Thread safety: functions; any thread.
#ifndef FERRY_BATCHER_BATCH_POLICY_H_
#define FERRY_BATCHER_BATCH_POLICY_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>

#include "absl/types/span.h"
#include "base/clock.h"
#include "batcher/service_time.h"
#include "batcher/statistics.h"

namespace ferry {

// Why the open batch cannot take the next request, if it cannot.
enum class Growth : uint8_t {
  kOpen,     // more may join
  kFull,     // the next request does not fit, or max_batch_size is reached
  kDrained,  // no further request can arrive
};

// The open batch: the requests of one shape that would leave together now.
struct QueueState {
  int32_t rows = 0;  // 0: nothing is queued
  TimePoint oldest_arrival = kNever;
  Growth growth = Growth::kOpen;
  int32_t max_batch_size = 1;  // rows
  // The fewest queued rows that can make it full, in rows or in requests.
  int32_t full_at_rows = 1;
  Duration max_wait{0};
  // The last moment at which it can start, with one more request, and still
  // keep every deadline of its requests.
  TimePoint latest_start = kNever;
};

// The instance that asks for a batch.
struct InstanceState {
  // Before it the instance still computes its last batch, and only a batch that
  // cannot grow leaves: closed earlier, a batch would leave behind what arrives
  // until then. In the past for an idle instance.
  TimePoint ready_at = {};
  // Whether a full batch leaves before that, too.
  bool takes_full_early = false;
};

// What is coming, and what it takes. All zero: nothing is known yet.
struct Forecast {
  double rows_per_ns = 0;  // arrival rate
  ServiceTimeLine service;
  int32_t instances = 1;
  absl::Span<const int32_t> buckets = {};  // batch_buckets.h
};

// Returns the fewest rows a batch that carry the arrival rate while the
// instances compute for a share kBusyTarget of the time, at least 1 and at most
// `max_batch_size`: the smallest b with instances * b / s(b) >=
// rate / kBusyTarget, where s(b) is that of the bucket that b is padded to.
inline constexpr double kBusyTarget = 0.7;
int32_t TargetRows(const Forecast& forecast, int32_t max_batch_size);

// Not now. The scheduler decides again at `until`, or as soon as that many rows
// are queued.
struct Wait {
  static constexpr int32_t kNoRows = std::numeric_limits<int32_t>::max();

  TimePoint until = kNever;
  int32_t wake_at_rows = kNoRows;
};

// Close the open batch and start it.
struct Dispatch {
  CloseReason reason;
};

using Decision = std::variant<Wait, Dispatch>;

enum class PolicyKind : uint8_t {
  kEager,     // an idle instance takes whatever is there; G3
  kWindow,    // full, or max_wait since the oldest arrived
  kAdaptive,  // TargetRows(), or max_wait, or a critical deadline
};

// Returns the policy's name in flags and configs: "eager", "window",
// "adaptive".
const char* PolicyName(PolicyKind kind);
std::optional<PolicyKind> ParsePolicy(std::string_view name);

// Whether it reads the forecast and latest_start, which is kNever for the
// others.
constexpr bool LooksAhead(PolicyKind kind) {
  return kind == PolicyKind::kAdaptive;
}

// Decides for a batch and the instance that asks for it.
Decision Decide(PolicyKind kind, const QueueState& queue,
                const InstanceState& instance, const Forecast& forecast,
                TimePoint now);

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_POLICY_H_
