// HeapOfPlaces and its like give one interface to what can hold requests by
// their deadlines: the earliest on top, and any of them removed.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_MICRO_DEADLINE_SET_H_
#define FERRY_BENCH_MICRO_DEADLINE_SET_H_

#include <cstddef>
#include <cstdint>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "batcher/deadline_heap.h"
#include "batcher/infer_request.h"

namespace ferry::bench {

class HeapOfPlaces {
 public:
  explicit HeapOfPlaces(size_t size) : heap_(static_cast<int32_t>(size)) {}

  void Insert(InferRequest& request) { heap_.Insert(request); }
  void Remove(InferRequest& request) { heap_.Remove(request); }
  InferRequest* earliest() { return heap_.earliest(); }

 private:
  DeadlineHeap heap_;
};

// `Set`: of pairs of due time and request, ordered.
template <typename Set>
class OrderedSet {
 public:
  explicit OrderedSet(size_t /*size*/) {}

  void Insert(InferRequest& request) { set_.emplace(request.due, &request); }
  void Remove(InferRequest& request) { set_.erase({request.due, &request}); }
  InferRequest* earliest() {
    return set_.empty() ? nullptr : set_.begin()->second;
  }

 private:
  Set set_;
};

using DueRequest = std::pair<TimePoint, InferRequest*>;
using StdSet = OrderedSet<std::set<DueRequest>>;
using AbslBtreeSet = OrderedSet<absl::btree_set<DueRequest>>;

// What is removed stays until it comes to the top: it is told by a number that
// the request then no longer has. That is InferRequest::queue_number here.
class LazyPriorityQueue {
 public:
  explicit LazyPriorityQueue(size_t /*size*/) {}

  void Insert(InferRequest& request) {
    request.queue_number = ++last_number_;
    queue_.push({request.due, request.queue_number, &request});
  }
  void Remove(InferRequest& request) { request.queue_number = 0; }
  InferRequest* earliest() {
    while (!queue_.empty() &&
           queue_.top().request->queue_number != queue_.top().number) {
      queue_.pop();
    }
    return queue_.empty() ? nullptr : queue_.top().request;
  }

 private:
  struct Entry {
    TimePoint due;
    uint64_t number;
    InferRequest* request;
  };
  struct DueLater {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.due > b.due;
    }
  };

  std::priority_queue<Entry, std::vector<Entry>, DueLater> queue_;
  uint64_t last_number_ = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_DEADLINE_SET_H_
