// BatchPlan holds the requests of one group that would leave together now, in
// the order in which they join the batch.
//
// Levels join from the most urgent down, each in the queue's order; before that
// each level takes what it is owed (LevelShares), and one request where that is
// all it may save up. A request that does not fit closes the batch: no request
// behind it overtakes it.
//
// Thread safety: thread-compatible; guarded by the scheduler's mutex.
#ifndef FERRY_BATCHER_BATCH_PLAN_H_
#define FERRY_BATCHER_BATCH_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "batcher/admission.h"
#include "batcher/infer_request.h"
#include "batcher/level_shares.h"
#include "batcher/request_queue.h"

namespace ferry {

// What a batch holds at most.
struct BatchLimits {
  int32_t rows = 1;
  int32_t requests = 1;
  // A request that arrived after it does not join, unless it is the first.
  TimePoint newest = kNever;
};

// The requests of a group in the order in which they join. One that was popped
// may be removed from its queue.
class JoinOrder {
 public:
  // `group` does not change meanwhile but by removals and delays of what was
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

class BatchPlan {
 public:
  // Never allocates while it holds at most `max_requests`.
  explicit BatchPlan(int32_t max_requests) {
    entries_.reserve(static_cast<size_t>(max_requests));
  }

  struct Entry {
    InferRequest* request;
    int32_t end_row;  // rows of the plan up to and with it
  };

  absl::Span<const Entry> entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  int32_t requests() const { return static_cast<int32_t>(entries_.size()); }
  int32_t rows() const { return empty() ? 0 : entries_.back().end_row; }

  // Whether `request` may join. The first always may: limits may have shrunk
  // since it was admitted.
  bool Fits(const InferRequest& request, const BatchLimits& limits) const {
    return empty() || (requests() < limits.requests &&
                       rows() + request.rows <= limits.rows &&
                       request.arrival <= limits.newest);
  }
  void Join(InferRequest& request) {
    entries_.push_back({&request, rows() + request.rows});
  }
  // Keeps the first requests only.
  void CutTo(int32_t requests) {
    entries_.resize(static_cast<size_t>(requests));
  }
  void Clear() { entries_.clear(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_PLAN_H_
