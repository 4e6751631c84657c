// InferRequest is one request in the scheduler's hands. The call that owns it
// embeds it, so that admission allocates nothing.
//
// Life of a request: the owner fills the first group of members and calls
// Scheduler::Submit(). Accepted, it belongs to the scheduler until
// Completion::Respond() is called. Refused, the scheduler never touches it
// again. After either it may be submitted once more, after Reset().
//
// Thread safety: `cancelled` is atomic. Release and acquire hand the rest from
// the submitting thread to the thread that pulls the batch, and on to those
// that run and deliver it.
#ifndef FERRY_BATCHER_INFER_REQUEST_H_
#define FERRY_BATCHER_INFER_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "base/clock.h"
#include "batcher/completion.h"
#include "tensor/tensor.h"

namespace ferry {

class ShapeGroup;
class SplitRequest;

// How a request ends that never left the queue with a batch.
enum class EndedInQueue : uint8_t {
  kCancelled,
  kExpired,     // its deadline passed
  kLate,        // its batch would have ended after its deadline
  kStopped,     // the server stopped first
  kDeviceLost,  // nothing runs any more
};

struct InferRequest {
  // The owner fills these before Submit(); then they are constant.
  absl::Span<const TensorView> inputs;  // one per ModelSpec::inputs, in order
  int32_t rows = 1;                     // >= 1
  size_t bytes = 0;                     // of all inputs, for admission
  uint64_t shape_key = 0;  // ShapeKey(inputs) where requests may differ, else 0
  int32_t level = 0;       // of priority; 0 is the most urgent
  TimePoint deadline = kNever;
  Duration timeout{0};  // from its arrival; 0: none
  Completion* completion = nullptr;

  // Submit() sets these: when it arrived, and when it is due, which is the
  // earliest of deadline, timeout and what the scheduler gives its level. The
  // scheduler puts `due` off where the level delays what is late.
  TimePoint arrival;
  TimePoint due = kNever;
  // Admission expects it to be late and runs it all the same, as a probe
  // (WaitEstimate::TakeProbe()).
  bool is_probe = false;

  // Set once by Scheduler::Cancel().
  std::atomic<bool> cancelled{false};

  // Makes an answered or refused request as good as new; keeps the first group.
  // REQUIRES: no Cancel() of it is under way: it would cancel the next life.
  void Reset() { cancelled.store(false, std::memory_order_relaxed); }

  // --- the scheduler's ---
  InferRequest* next = nullptr;  // in the inbox, then among those set aside
  EndedInQueue ended = EndedInQueue::kCancelled;  // where it is set aside
  InferRequest* newer = nullptr;
  InferRequest* older = nullptr;
  ShapeGroup* group = nullptr;  // null: it is not queued
  int32_t deadline_index = -1;  // its place in the heap
  bool is_delayed = false;      // it waited for longer than its level allows
  uint64_t queue_number = 0;    // in the order of arrival in the queue

  // A request of more rows than a batch has parts, which it owns.
  SplitRequest* split = nullptr;
  // A part has the request that it is part of.
  SplitRequest* part_of = nullptr;

  // Whether its result is of no use: its client has gone, or, for a part,
  // another part has failed.
  bool IsCancelled() const;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INFER_REQUEST_H_
