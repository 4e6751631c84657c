// Implements DeadlineHeap: sifts requests and keeps their places in them.
#include "batcher/internal/deadline_heap.h"

#include "base/check.h"

namespace ferry {

DeadlineHeap::DeadlineHeap(int32_t max_requests) {
  heap_.reserve(static_cast<size_t>(max_requests));
}

void DeadlineHeap::Insert(InferRequest& request) {
  Check(request.deadline_index < 0, "request is not in the heap yet");
  heap_.push_back(&request);
  request.deadline_index = static_cast<int32_t>(heap_.size() - 1);
  SiftUp(heap_.size() - 1);
}

void DeadlineHeap::Remove(InferRequest& request) {
  if (request.deadline_index < 0) {
    return;
  }
  const auto index = static_cast<size_t>(request.deadline_index);
  Check(index < heap_.size() && heap_[index] == &request,
        "a request knows its place in the heap");
  request.deadline_index = -1;
  InferRequest* const last = heap_.back();
  heap_.pop_back();
  if (last == &request) {
    return;
  }
  Place(index, last);
  SiftUp(index);
  SiftDown(static_cast<size_t>(last->deadline_index));
}

void DeadlineHeap::Place(size_t index, InferRequest* request) {
  heap_[index] = request;
  request->deadline_index = static_cast<int32_t>(index);
}

void DeadlineHeap::SiftUp(size_t index) {
  InferRequest* const request = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (heap_[parent]->due <= request->due) {
      break;
    }
    Place(index, heap_[parent]);
    index = parent;
  }
  Place(index, request);
}

void DeadlineHeap::SiftDown(size_t index) {
  InferRequest* const request = heap_[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) {
      break;
    }
    if (child + 1 < heap_.size() && heap_[child + 1]->due < heap_[child]->due) {
      ++child;
    }
    if (request->due <= heap_[child]->due) {
      break;
    }
    Place(index, heap_[child]);
    index = child;
  }
  Place(index, request);
}

}  // namespace ferry
