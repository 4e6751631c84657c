// RequestQueue holds the admitted requests after the scheduler took them from
// the inbox: in groups of one shape, and in each by level of priority and then
// by arrival, the delayed ones last. Each group is an open batch, or several:
// requests of different shapes never share one, and never close each other's.
//
// Intrusive. Allocates only when more shapes are queued at once than ever
// before.
//
// Invariant: a request is in its group and, if it is ever due, in the heap,
// exactly while its `group` is set. No group in groups() is empty.
//
// Thread safety: thread-compatible; the scheduler's mutex guards it.
#ifndef FERRY_BATCHER_INTERNAL_REQUEST_QUEUE_H_
#define FERRY_BATCHER_INTERNAL_REQUEST_QUEUE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "batcher/infer_request.h"
#include "batcher/internal/deadline_heap.h"

namespace ferry {

// Requests of one shape.
class ShapeGroup {
 public:
  // Requests of one level, linked by `newer` and `older`: those in time by
  // arrival, then the delayed ones by arrival.
  struct Level {
    InferRequest* oldest = nullptr;
    InferRequest* newest = nullptr;
    InferRequest* first_delayed = nullptr;
    int32_t rows = 0;
  };

  explicit ShapeGroup(int32_t levels) : levels_(static_cast<size_t>(levels)) {}

  absl::Span<const Level> levels() const { return levels_; }
  int32_t requests() const { return requests_; }
  int32_t rows() const { return rows_; }

  // REQUIRES: not empty.
  int32_t most_urgent_level() const;
  InferRequest& any() const {
    return *levels_[static_cast<size_t>(most_urgent_level())].oldest;
  }
  TimePoint oldest_arrival() const;
  // Looks at each request.
  TimePoint earliest_due() const;

 private:
  friend class RequestQueue;

  void Append(InferRequest& request);
  void Remove(InferRequest& request);
  void Delay(InferRequest& request);
  // Into and out of the list; counts nothing.
  static void Link(InferRequest& request, Level& level);
  static void Unlink(InferRequest& request, Level& level);

  std::vector<Level> levels_;
  int32_t requests_ = 0;
  int32_t rows_ = 0;
  size_t index_ = 0;  // in groups()
};

class RequestQueue {
 public:
  // Requests have a level in [0, levels).
  RequestQueue(int32_t max_requests, int32_t levels);

  void Append(InferRequest& request);

  // REQUIRES: the request is queued.
  void Remove(InferRequest& request);

  // From now on the request comes after the others of its level, and is due at
  // its deadline only. REQUIRES: the request is queued.
  void Delay(InferRequest& request);

  // In no order.
  absl::Span<ShapeGroup* const> groups() const { return groups_; }
  bool empty() const { return groups_.empty(); }
  int32_t requests() const { return requests_; }
  int32_t rows() const { return rows_; }
  int32_t level_rows(int32_t level) const {
    return level_rows_[static_cast<size_t>(level)];
  }
  // Returns those of them that belong to delayed requests.
  int32_t delayed_rows(int32_t level) const {
    return delayed_rows_[static_cast<size_t>(level)];
  }
  // REQUIRES: not empty.
  InferRequest& any() const { return groups_.front()->any(); }

  // Calls visit(request) for each request. The queue does not change meanwhile.
  template <typename Visitor>
  void Visit(const Visitor& visit) const {
    for (const ShapeGroup* group : groups_) {
      for (const ShapeGroup::Level& level : group->levels()) {
        for (InferRequest* each = level.oldest; each != nullptr;
             each = each->newer) {
          visit(*each);
        }
      }
    }
  }

  const DeadlineHeap& deadlines() const { return deadlines_; }

 private:
  ShapeGroup& GroupOf(const InferRequest& request);
  void DropGroup(ShapeGroup& group);

  const int32_t levels_;
  std::vector<ShapeGroup*> groups_;
  std::vector<uint64_t> keys_;  // of groups_, side by side to be searched
  std::vector<std::unique_ptr<ShapeGroup>> all_groups_;
  std::vector<ShapeGroup*> empty_groups_;
  int32_t requests_ = 0;
  int32_t rows_ = 0;
  std::vector<int32_t> level_rows_;
  std::vector<int32_t> delayed_rows_;  // [level]
  uint64_t appended_ = 0;
  DeadlineHeap deadlines_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_REQUEST_QUEUE_H_
