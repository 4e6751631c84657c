// InferRequest: one request in the batcher's hands, embedded in the call that
// owns it, so that admission allocates nothing.
//
// Life of a request: the owner fills the first group of members and calls
// Batcher::Submit(). Accepted, it belongs to the batcher until
// Completion::Released(). Refused, the batcher never touches it again. It may
// be submitted again after it was released or refused, after Reset().
//
// Thread safety: `cancelled` and `holds_` are atomic; the rest is handed from
// the submitting thread to the stepper, and to the backend's with the
// batch, by release and acquire.
#ifndef FERRY_BATCHER_INFER_REQUEST_H_
#define FERRY_BATCHER_INFER_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "batcher/clock.h"
#include "batcher/completion.h"
#include "batcher/tensor.h"

namespace ferry {

class ShapeGroup;
class SplitRequest;

// How a request ended: what its Completion is told.
struct Ending {
  Outcome outcome;
  OutputRows rows;
};

struct InferRequest {
  // Filled by the owner before Submit(), then constant.
  absl::Span<const TensorView> inputs;  // one per ModelSpec::inputs, in order
  int32_t rows = 1;                     // >= 1
  size_t bytes = 0;                     // of all inputs, for admission
  uint64_t shape_key = 0;  // ShapeKey(inputs) where requests may differ, else 0
  int32_t level = 0;       // of priority; 0 is the most urgent
  TimePoint deadline = kNever;
  Duration timeout{0};  // from its arrival; 0: none
  Completion* completion = nullptr;

  // Stamped by Submit(): when it arrived, and when it is due, which is the
  // earliest of deadline, timeout and what the batcher gives its level. The
  // stepper puts `due` off where the level delays what is late.
  TimePoint arrival;
  TimePoint due = kNever;
  // It is expected to be late, and runs all the same (WaitForecast::IsTrial()).
  bool is_trial = false;

  // Set once by Batcher::Cancel().
  std::atomic<bool> cancelled{false};

  // Makes a released or refused request as good as new; keeps the first group.
  // REQUIRES: no Cancel() of it is under way: it would cancel the next life.
  void Reset() { cancelled.store(false, std::memory_order_relaxed); }

  // Below: the batcher's.
  InferRequest* next_pushed = nullptr;
  InferRequest* next_cancelled = nullptr;
  // Below: the stepper's only.
  InferRequest* newer = nullptr;
  InferRequest* older = nullptr;
  ShapeGroup* group = nullptr;
  int32_t deadline_index = -1;  // its place in the heap
  bool is_queued = false;
  bool is_delayed = false;    // it waited for longer than its level allows
  uint64_t queue_number = 0;  // of its arrival in the queue

  // Where it has more rows than a batch: its parts; owned. Written before the
  // first holds are taken.
  SplitRequest* split = nullptr;
  // Where it is a part: whose.
  SplitRequest* part_of = nullptr;

  // Whether it is a part of a request that has failed.
  bool IsOfNoUse() const;

  // Takes one more hold unless the last one was already given back.
  bool TryHold() {
    int32_t holds = holds_.load(std::memory_order_seq_cst);
    while (holds > 0) {
      if (holds_.compare_exchange_weak(holds, holds + 1,
                                       std::memory_order_seq_cst)) {
        return true;
      }
    }
    return false;
  }

  // That of Submit() while it runs, and that until the last response.
  void TakeFirstHolds() { holds_.store(2, std::memory_order_seq_cst); }
  // That until the response alone.
  void TakeFirstHold() { holds_.store(1, std::memory_order_seq_cst); }

  // Gives a hold back; the last one releases the request to its owner.
  void GiveBackHold() {
    if (holds_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Release();
    }
  }

  // The request has ended so. Returns what its owner is to be told: nothing
  // while other parts of the whole have not ended. Then End().
  std::optional<Ending> EndingOf(const Ending& ending);

  // Tells the owner, if there is something to tell, and gives back the hold
  // until the response.
  void End(const std::optional<Ending>& told) {
    if (told.has_value()) {
      completion->Respond(told->outcome, told->rows, Last::kYes);
    }
    GiveBackHold();
  }

 private:
  void Release();

  // Holds of the batcher on this memory: one while Submit() runs, one from
  // there to the last response, one from Cancel() to its node's consumption.
  std::atomic<int32_t> holds_{0};
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INFER_REQUEST_H_
