// SchedulerOptions says how a scheduler batches, bounds its queue and treats
// levels of priority; RuntimeOptions are those of them that can be changed
// while it serves.
//
// Thread safety: plain values and functions.
#ifndef FERRY_BATCHER_SCHEDULER_OPTIONS_H_
#define FERRY_BATCHER_SCHEDULER_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "batcher/batch_policy.h"

namespace ferry {

class DeviceShare;

// Levels of priority at most.
inline constexpr int32_t kMaxLevels = 16;

struct QueueBounds {
  int32_t requests = 4096;
  int32_t rows = 1 << 20;
  int64_t bytes = int64_t{256} << 20;
};

// One level of priority.
struct LevelOptions {
  Duration default_timeout{0};  // of a request, from its arrival; 0: none
  // Whether a request that waits for longer is served after the others of its
  // level instead of being refused. Its own deadline still ends it.
  bool delays_late = false;
  // Whether a request's own timeout counts where it is shorter.
  bool may_shorten = true;
  int32_t max_requests = 0;  // queued; 0: no bound but the queue's
};

struct RuntimeOptions {
  int32_t max_batch_size = 64;  // rows, 1 to what the model was loaded with
  PolicyKind policy = PolicyKind::kEager;
  Duration max_wait = Milliseconds(5);
  QueueBounds queue = {};
};

struct SchedulerOptions {
  int32_t max_batch_size = 64;  // rows, >= 1; runtime options never exceed it
  // Requests in one batch: 1 where the model does not batch across requests.
  int32_t max_requests_per_batch = std::numeric_limits<int32_t>::max();
  // Whether a request of more rows than a batch holds is served in parts; for
  // rows that may depend on each other it is refused.
  bool splits_requests = true;
  // Replies leave in the order of arrival; not with several levels.
  bool preserve_ordering = false;
  PolicyKind policy = PolicyKind::kEager;
  Duration max_wait = Milliseconds(5);
  // A batch of that many rows no longer waits, though it is not full; 0: only
  // a full one. Changes nothing under `eager`.
  int32_t enough_rows = 0;
  // What the model pads batches to (batch_buckets.h), max_batch_size last.
  std::vector<int32_t> buckets = {};
  QueueBounds queue = {};
  std::vector<LevelOptions> levels = {{}};  // 1 to kMaxLevels, urgent first
  // Batches whose compute has ended and whose replies are not all handed over.
  int32_t max_undelivered_batches = 4;
  // Where models share the device: its shares, which outlive the scheduler, and
  // this model's weight. Null: this model has the device to itself.
  DeviceShare* device = nullptr;
  double weight = 1;
  const Clock* clock = &Clock::Steady();  // outlives the scheduler
};

RuntimeOptions RuntimeOptionsOf(const SchedulerOptions& options);

// INVALID_ARGUMENT where an option is out of range.
absl::Status CheckOptions(const SchedulerOptions& options);
absl::Status CheckRuntimeOptions(const RuntimeOptions& options,
                                 int64_t max_batch_size);

}  // namespace ferry

#endif  // FERRY_BATCHER_SCHEDULER_OPTIONS_H_
