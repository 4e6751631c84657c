// Implements BatchPool: keeps the free batches and the instances that wait.
#include "batcher/batch_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace ferry {

BatchPool::BatchPool(const Options& options,
                     std::function<void(InstanceId)> on_batch)
    : clock_(*options.clock),
      on_batch_(std::move(on_batch)),
      preserve_ordering_(options.preserve_ordering),
      parked_(static_cast<size_t>(options.batches)) {
  for (int32_t i = 0; i < options.batches; ++i) {
    all_.push_back(
        std::make_unique<Batch>(options.max_requests, options.max_rows, this));
  }
  MutexLock lock(mutex_);
  for (const std::unique_ptr<Batch>& batch : all_) {
    free_.push_back(batch.get());
  }
}

BatchPool::~BatchPool() {
  MutexLock lock(mutex_);
  Check(free_.size() == all_.size(),
        "every batch is back before its pool ends");
}

BatchPtr BatchPool::Take(InstanceId id) {
  MutexLock lock(mutex_);
  if (free_.empty()) {
    if (std::find(waiting_.begin(), waiting_.end(), id) == waiting_.end()) {
      waiting_.push_back(id);
    }
    return nullptr;
  }
  Batch* const batch = free_.back();
  free_.pop_back();
  return BatchPtr(batch);
}

void BatchPool::Put(Batch& batch) {
  std::vector<InstanceId> waiting;
  {
    MutexLock lock(mutex_);
    free_.push_back(&batch);
    waiting.swap(waiting_);
    changed_.SignalAll();
  }
  for (const InstanceId id : waiting) {
    on_batch_(id);
  }
}

void BatchPool::Deliver(BatchPtr batch) {
  if (!preserve_ordering_) {
    batch->Deliver(clock_);
    return;
  }
  {
    MutexLock lock(mutex_);
    BatchPtr& place = ParkedAt(batch->sequence());
    Check(place == nullptr, "no more batches are under way than the pool has");
    place = std::move(batch);
    if (is_delivering_) {
      return;
    }
    is_delivering_ = true;
  }
  for (;;) {
    BatchPtr next;
    {
      MutexLock lock(mutex_);
      next = std::move(ParkedAt(next_));
      if (next == nullptr) {
        is_delivering_ = false;
        return;
      }
      ++next_;
    }
    next->Deliver(clock_);
  }
}

void BatchPool::BeginAnswers() {
  MutexLock lock(mutex_);
  ++answering_;
}

void BatchPool::EndAnswers() {
  MutexLock lock(mutex_);
  --answering_;
  changed_.SignalAll();
}

void BatchPool::QueueChanged() {
  MutexLock lock(mutex_);
  changed_.SignalAll();
}

bool BatchPool::WaitUntilIdle(TimePoint until,
                              absl::FunctionRef<bool()> is_empty) {
  MutexLock lock(mutex_);
  for (;;) {
    // A batch is taken before its requests leave the queue, so the queue is
    // asked last. The answer counts as it comes: a producer that is refused
    // counts for a moment as if it were queued.
    if (free_.size() == all_.size() && answering_ == 0 && is_empty()) {
      return true;
    }
    if (clock_.Now() >= until) {
      return false;
    }
    changed_.WaitUntil(mutex_, until);
  }
}

int32_t BatchPool::under_way() const {
  MutexLock lock(mutex_);
  return static_cast<int32_t>(all_.size() - free_.size());
}

}  // namespace ferry
