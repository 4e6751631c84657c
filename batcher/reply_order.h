// ReplyOrder delivers batches in the order in which they were closed, whichever
// instance was faster, so that replies leave in the order in which requests
// arrived (`preserve_ordering`).
//
// A batch that ends early is parked. The pool bounds how many there are, so a
// slow batch holds up the others, and memory is bounded.
//
// Thread safety: thread-safe.
#ifndef FERRY_BATCHER_REPLY_ORDER_H_
#define FERRY_BATCHER_REPLY_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "batcher/batch.h"

namespace ferry {

class ReplyOrder {
 public:
  // At most `max_batches` are closed and not delivered at once.
  ReplyOrder(int32_t max_batches, const Clock& clock);

  // Takes a batch that has its result, and delivers all whose turn it is, one
  // after the other. Another thread that is delivering may take this one along.
  void Deliver(BatchPtr batch) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  BatchPtr& ParkedAt(int64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return parked_[static_cast<size_t>(sequence) % parked_.size()];
  }

  const Clock& clock_;
  Mutex mutex_;
  std::vector<BatchPtr> parked_ ABSL_GUARDED_BY(mutex_);
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_delivering_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_REPLY_ORDER_H_
