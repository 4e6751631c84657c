// BatchOrder: batches are resolved in the order in which they started, whatever
// lane was faster, so that replies leave in the order in which requests
// arrived (`preserve_ordering`).
//
// A batch that ends early is parked. Those parked are under way, of which there
// are only so many, so a slow batch holds up the others, and memory is bounded.
//
// Thread safety: Started() from the stepper, Finished() from any.
#ifndef FERRY_BATCHER_BATCH_ORDER_H_
#define FERRY_BATCHER_BATCH_ORDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "batcher/batch.h"
#include "batcher/mutex.h"

namespace ferry {

class BatchOrder {
 public:
  // At most `max_batches` are under way at once, from Started() until they were
  // given to `resolve`.
  explicit BatchOrder(int32_t max_batches);

  void Started(Batch& batch) { batch.set_sequence(started_++); }

  // Takes a batch that has ended, and gives to `resolve` all whose turn it is,
  // one after the other; another thread may be at it and take this one along.
  // No lock is held meanwhile.
  void Finished(std::unique_ptr<Batch> batch,
                absl::FunctionRef<void(std::unique_ptr<Batch>)> resolve)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::unique_ptr<Batch>& PlaceOf(int64_t sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return parked_[static_cast<size_t>(sequence) % parked_.size()];
  }

  int64_t started_ = 0;  // stepper only
  Mutex mutex_;
  std::vector<std::unique_ptr<Batch>> parked_ ABSL_GUARDED_BY(mutex_);
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_resolving_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_ORDER_H_
