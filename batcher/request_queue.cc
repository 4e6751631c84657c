// The doubly linked list of queued requests.
#include "batcher/request_queue.h"

#include "batcher/check.h"

namespace ferry {

void RequestQueue::Append(InferRequest& request) {
  request.older = newest_;
  request.newer = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer) = &request;
  newest_ = &request;
  if (request.deadline != kNever) {
    deadlines_.Insert(request);
  }
  request.is_queued = true;
}

void RequestQueue::Remove(InferRequest& request) {
  Check(request.is_queued, "only a queued request is removed");
  (request.older == nullptr ? oldest_ : request.older->newer) = request.newer;
  (request.newer == nullptr ? newest_ : request.newer->older) = request.older;
  deadlines_.Remove(request);
  request.is_queued = false;
}

}  // namespace ferry
