// BatchStatistics and SchedulerStatistics count what a scheduler serves: the
// first while it serves, the second as a copy of the sum.
//
// The durations of a request, in the words used everywhere:
//   queue wait  arrival to batch closed
//   stage       batch closed to compute begun: gather, copy in
//   compute     on the instance
//   deliver     compute ended to reply handed over
//   request time  the sum
//
// Thread safety: a BatchStatistics has one writer at a time and any number of
// readers. Each batch carries one, written by the thread that owns the batch;
// handing the batch over orders the writers. The scheduler has one more for
// what ends in the queue. SchedulerStatistics is a plain value.
#ifndef FERRY_BATCHER_STATISTICS_H_
#define FERRY_BATCHER_STATISTICS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "batcher/service_time.h"

namespace ferry {

// Why a batch closed; counts of it explain small batches.
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

// Within 3.2 % of the true value.
using DurationHistogram = Histogram<4>;

// Batches of one size, with the sums of their durations.
struct BatchSizeStatistics {
  Counter batches;
  Counter stage_ns;
  Counter compute_ns;
  Counter deliver_ns;
};

inline constexpr size_t kStatusCodeCount = 17;

struct BatchStatistics {
  explicit BatchStatistics(int32_t max_batch_size)
      : by_rows(static_cast<size_t>(max_batch_size) + 1) {}

  void MergeInto(BatchStatistics& sum) const;

  uint64_t ok_requests() const { return request_time.count(); }

  Counter ok_rows;
  // Counts over batches that got a result and their inputs that are padded to
  // sizes (tensor/padding.h): elements as they came, and the zeros added.
  Counter input_elements;
  Counter padding_elements;
  // Counts the requests that got a result after they were due.
  Counter late_requests;
  // Counts the runs of halves of batches that had failed.
  Counter reruns;
  // Requests that ended otherwise after they were admitted, by status code.
  std::array<Counter, kStatusCodeCount> failed_requests;
  // Counts those of them that would have been answered after they are due.
  Counter dropped_requests;
  Counter failed_ns;  // sum of their times from arrival to answer
  std::array<Counter, kCloseReasonCount> closed_batches;

  // Per request that got a result.
  DurationHistogram queue_wait;
  DurationHistogram deliver;
  DurationHistogram request_time;
  // Per batch that got one; the sum of compute is the busy time.
  DurationHistogram stage;
  DurationHistogram compute;
  // Their sums per request, as ModelStatistics wants them.
  Counter stage_ns_of_requests;
  Counter compute_ns_of_requests;

  std::vector<BatchSizeStatistics> by_rows;  // [rows of the batch]
};

// Returns how many rows were computed only to fill a bucket: the batches of
// `by_rows` were padded to `buckets` (batcher/batch_buckets.h).
uint64_t PaddingRows(absl::Span<const BatchSizeStatistics> by_rows,
                     absl::Span<const int32_t> buckets);

// Why a request was refused, never admitted.
enum class Refusal : uint8_t {
  kTooLarge,       // more rows or bytes than are ever taken
  kQueueRequests,  // queue full, in requests
  kQueueLevel,     // queue full, in requests of the level
  kQueueRows,      // queue full, in rows
  kQueueBytes,     // queue full, in bytes
  kExpired,        // its deadline had passed
  kWouldMiss,      // its deadline would pass before it could be answered
  kDraining,       // the scheduler takes no more
  kBroken,         // the device is lost
};
inline constexpr size_t kRefusalCount = 9;

// Returns the reason's name in metrics: "too_large", "queue_requests", ...
const char* RefusalName(Refusal reason);

// An event that only some backends have, for metrics.
struct DeviceCount {
  const char* event = "";  // constant: "graph_launched", "out_of_memory", ...
  uint64_t count = 0;
};

struct SchedulerStatistics {
  explicit SchedulerStatistics(int32_t max_batch_size)
      : served(max_batch_size) {}

  BatchStatistics served;
  uint64_t padding_rows = 0;  // PaddingRows() of what was served
  std::array<uint64_t, kRefusalCount> refused{};
  std::vector<Duration> busy;    // compute time so far, by instance
  ServiceTimeLine service_time;  // as learned so far
  Duration full_batch_time{0};   // expected of max_batch_size rows
  uint64_t service_time_drifts = 0;
  int32_t queued_requests = 0;
  int32_t queued_rows = 0;
  int64_t queued_bytes = 0;
  int64_t joined_bytes = 0;     // of outputs whose parts are not all there
  int32_t running_batches = 0;  // closed, and not all answered
  // Batches whose compute has not ended, by instance; where there is none,
  // since when it delivers the last, or kNever where it has pulled again.
  struct InFlight {
    TimePoint oldest_begin = kNever;
    int32_t batches = 0;
  };
  std::vector<InFlight> in_flight;
  TimePoint last_arrival;  // the clock's epoch: none yet
};

}  // namespace ferry

#endif  // FERRY_BATCHER_STATISTICS_H_
