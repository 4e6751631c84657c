// DeadlineHeap holds the queued requests that expire, the earliest due on top.
//
// A binary heap of pointers in storage reserved at construction; each request
// knows its place (InferRequest::deadline_index), so that any of them is
// removed in O(log n).
//
// Thread safety: guarded by the scheduler's mutex.
#ifndef FERRY_BATCHER_INTERNAL_DEADLINE_HEAP_H_
#define FERRY_BATCHER_INTERNAL_DEADLINE_HEAP_H_

#include <vector>

#include "batcher/infer_request.h"

namespace ferry {

class DeadlineHeap {
 public:
  // Never allocates while it holds at most `max_requests`.
  explicit DeadlineHeap(int32_t max_requests);

  // REQUIRES: not in the heap.
  void Insert(InferRequest& request);

  // Removes the request if it is in the heap.
  void Remove(InferRequest& request);

  // Returns the request that is due first, or null.
  InferRequest* earliest() const {
    return heap_.empty() ? nullptr : heap_.front();
  }
  TimePoint earliest_due() const {
    return heap_.empty() ? kNever : heap_.front()->due;
  }

 private:
  void Place(size_t index, InferRequest* request);
  void SiftUp(size_t index);
  void SiftDown(size_t index);

  std::vector<InferRequest*> heap_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_DEADLINE_HEAP_H_
