// BatchPool lends batches to a scheduler, sees to it that they are delivered,
// and takes them back.
//
// Bound (G5): it has a fixed number of batches. An instance that finds none
// waits until replies have been delivered.
//
// Where order is preserved batches are delivered as they were closed, whichever
// instance was faster: one that ends early is parked.
//
// Thread safety: thread-safe.
#ifndef FERRY_BATCHER_BATCH_POOL_H_
#define FERRY_BATCHER_BATCH_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "base/mutex.h"
#include "batcher/batch.h"

namespace ferry {

// The number of an instance, from 0.
using InstanceId = int32_t;

class BatchPool {
 public:
  struct Options {
    int32_t batches = 1;
    int32_t max_requests = 1;  // of one batch
    int32_t max_rows = 1;
    bool preserve_ordering = false;
    const Clock* clock = nullptr;  // outlives the pool
  };

  // `on_batch(id)` tells that Take(id), which returned null, may return a batch
  // now.
  BatchPool(const Options& options, std::function<void(InstanceId)> on_batch);

  // REQUIRES: all batches are back.
  ~BatchPool();

  // Returns an open, empty batch; null where all are under way.
  BatchPtr Take(InstanceId id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Put(Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_);

  bool preserves_order() const { return preserve_ordering_; }

  // Tells the requests of a batch that has its result; where order is preserved
  // those of all batches whose turn it is, one after the other. Another thread
  // that is delivering may take this one along.
  void Deliver(BatchPtr batch) ABSL_LOCKS_EXCLUDED(mutex_);

  // Requests are being told their end outside a batch. Calls may nest.
  void BeginAnswers() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndAnswers() ABSL_LOCKS_EXCLUDED(mutex_);

  // What WaitUntilIdle() asks may have another answer.
  void QueueChanged() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until `is_empty()` says that nothing is queued, no batch is under way
  // and no request is being told its end. Returns whether that came before
  // `until`.
  bool WaitUntilIdle(TimePoint until, absl::FunctionRef<bool()> is_empty)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Batches closed and not yet delivered.
  int32_t under_way() const ABSL_LOCKS_EXCLUDED(mutex_);

  // All batches, for their statistics; constant.
  const std::vector<std::unique_ptr<Batch>>& all() const { return all_; }

 private:
  BatchPtr& ParkedAt(int64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return parked_[static_cast<size_t>(sequence) % parked_.size()];
  }

  const Clock& clock_;
  const std::function<void(InstanceId)> on_batch_;
  std::vector<std::unique_ptr<Batch>> all_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Batch*> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<InstanceId> waiting_ ABSL_GUARDED_BY(mutex_);
  int32_t answering_ ABSL_GUARDED_BY(mutex_) = 0;

  // Where order is preserved; not used otherwise.
  const bool preserve_ordering_;
  std::vector<BatchPtr> parked_ ABSL_GUARDED_BY(mutex_);  // a ring, by sequence
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;              // sequence
  bool is_delivering_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_POOL_H_
