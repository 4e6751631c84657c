// BatchPlan: which requests of a group would leave together now, and in which
// order they join the batch.
//
// Levels join from the most urgent down, each in the queue's order; before that
// each level takes what it is owed (LevelShares), and one request where that is
// all it may save up. A request that does not fit closes the batch: nobody
// behind it overtakes it.
//
// Thread safety: thread-compatible; the stepper's.
#ifndef FERRY_BATCHER_BATCH_PLAN_H_
#define FERRY_BATCHER_BATCH_PLAN_H_

#include <array>
#include <cstdint>

#include "batcher/admission.h"
#include "batcher/infer_request.h"
#include "batcher/level_shares.h"
#include "batcher/request_queue.h"

namespace ferry {

// What a batch holds at most.
struct BatchLimits {
  int32_t rows = 1;
  int32_t requests = 1;
  // What arrived after it does not join; but for the first.
  TimePoint newest = kNever;
};

// The requests of a group in the order in which they join. One that was popped
// may be removed from its queue.
class JoinOrder {
 public:
  // `group` has not changed since but by removals and delays of what was
  // popped.
  JoinOrder(const ShapeGroup& group, const LevelShares& shares);

  // Returns the next one, or null after the last.
  InferRequest* Peek() { return next_[static_cast<size_t>(level_)]; }
  void Pop();

 private:
  void FindLevel();

  const LevelShares& shares_;
  std::array<InferRequest*, kMaxLevels> next_{};  // [level]
  int32_t owed_ = 0;                              // to level_, not yet taken
  bool takes_owed_ = false;
  int32_t level_ = 0;
};

struct BatchPlan {
  int32_t requests = 0;
  int32_t rows = 0;
  bool is_full = false;  // nothing more can join

  // Whether `request` may join.
  bool Fits(const InferRequest& request, const BatchLimits& limits) const {
    // The first always does: limits may have shrunk since it was admitted.
    return requests == 0 ||
           (requests < limits.requests && rows + request.rows <= limits.rows &&
            request.arrival <= limits.newest);
  }
  void Join(const InferRequest& request) {
    ++requests;
    rows += request.rows;
  }
};

// Of an empty group: nothing.
BatchPlan PlanBatch(const ShapeGroup& group, const LevelShares& shares,
                    const BatchLimits& limits);

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_PLAN_H_
