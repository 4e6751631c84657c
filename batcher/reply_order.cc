// Implements ReplyOrder: parks batches in a ring, by their sequence numbers.
#include "batcher/reply_order.h"

#include <utility>

#include "base/check.h"

namespace ferry {

ReplyOrder::ReplyOrder(int32_t max_batches, const Clock& clock)
    : clock_(clock), parked_(static_cast<size_t>(max_batches)) {}

void ReplyOrder::Deliver(BatchPtr batch) {
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

}  // namespace ferry
