// Implements the checks of SchedulerOptions and RuntimeOptions.
#include "batcher/scheduler_options.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry {
namespace {

// Upper bounds far beyond use, so that a slip of the pen does not become an
// allocation of gigabytes at start.
constexpr int64_t kMaxBatchSize = 1 << 20;  // rows
constexpr int64_t kMaxQueueRequests = 1 << 24;
constexpr int64_t kMaxQueueRows = 1 << 26;
constexpr int64_t kMaxQueueBytes = int64_t{1} << 46;
constexpr int64_t kMaxUndelivered = 1 << 10;  // batches

absl::Status CheckRange(const char* name, int64_t value, int64_t max) {
  return value >= 1 && value <= max
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(name, ": expected 1 to ",
                                                       max, ", got ", value));
}

absl::Status CheckBuckets(const SchedulerOptions& options) {
  const std::vector<int32_t>& buckets = options.buckets;
  const auto out_of_order = std::adjacent_find(buckets.begin(), buckets.end(),
                                               std::greater_equal<int32_t>());
  if (buckets.empty() ||
      (out_of_order == buckets.end() && buckets.front() >= 1 &&
       buckets.back() == options.max_batch_size)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "buckets: expected ascending numbers of rows, the last of them "
      "max_batch_size, ",
      options.max_batch_size, ", got ", absl::StrJoin(buckets, ",")));
}

}  // namespace

RuntimeOptions RuntimeOptionsOf(const SchedulerOptions& options) {
  return {.max_batch_size = options.max_batch_size,
          .policy = options.policy,
          .max_wait = options.max_wait,
          .queue = options.queue};
}

absl::Status CheckRuntimeOptions(const RuntimeOptions& options,
                                 int64_t max_batch_size) {
  absl::Status status =
      CheckRange("max_batch_size", options.max_batch_size, max_batch_size);
  status.Update(
      CheckRange("queue.requests", options.queue.requests, kMaxQueueRequests));
  status.Update(CheckRange("queue.rows", options.queue.rows, kMaxQueueRows));
  status.Update(CheckRange("queue.bytes", options.queue.bytes, kMaxQueueBytes));
  if (options.max_wait < Duration(0)) {
    status.Update(absl::InvalidArgumentError(
        "max_wait: expected at least 0, got a negative time"));
  }
  return status;
}

absl::Status CheckOptions(const SchedulerOptions& options) {
  absl::Status status =
      CheckRuntimeOptions(RuntimeOptionsOf(options), kMaxBatchSize);
  status.Update(CheckRange("max_requests_per_batch",
                           options.max_requests_per_batch,
                           std::numeric_limits<int32_t>::max()));
  status.Update(CheckRange("max_undelivered_batches",
                           options.max_undelivered_batches, kMaxUndelivered));
  status.Update(CheckRange("levels", std::ssize(options.levels), kMaxLevels));
  if (options.enough_rows < 0) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "enough_rows: expected at least 0, got ", options.enough_rows)));
  }
  status.Update(CheckBuckets(options));
  const bool delays =
      std::any_of(options.levels.begin(), options.levels.end(),
                  [](const LevelOptions& level) { return level.delays_late; });
  if (options.preserve_ordering && delays) {
    status.Update(absl::InvalidArgumentError(
        "preserve_ordering: expected no level that delays with it"));
  }
  if (options.preserve_ordering && options.levels.size() > 1) {
    status.Update(absl::InvalidArgumentError(
        "preserve_ordering: expected one level of priority with it, got "
        "several"));
  }
  return status;
}

}  // namespace ferry
