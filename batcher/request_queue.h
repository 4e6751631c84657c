// RequestQueue: the admitted requests in arrival order, after the batcher
// thread took them from the push list. Intrusive; nothing is allocated.
//
// Invariant: a request is in the list and, if it has a deadline, in the heap,
// exactly while is_queued is true.
//
// Thread safety: batcher thread only.
#ifndef FERRY_BATCHER_REQUEST_QUEUE_H_
#define FERRY_BATCHER_REQUEST_QUEUE_H_

#include "batcher/deadline_heap.h"
#include "batcher/infer_request.h"

namespace ferry {

class RequestQueue {
 public:
  explicit RequestQueue(int32_t max_requests) : deadlines_(max_requests) {}

  void Append(InferRequest& request);

  // REQUIRES: request.is_queued.
  void Remove(InferRequest& request);

  InferRequest* oldest() const { return oldest_; }
  const DeadlineHeap& deadlines() const { return deadlines_; }
  bool empty() const { return oldest_ == nullptr; }

 private:
  InferRequest* oldest_ = nullptr;
  InferRequest* newest_ = nullptr;
  DeadlineHeap deadlines_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_REQUEST_QUEUE_H_
