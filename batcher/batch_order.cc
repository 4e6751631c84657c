// Parking batches until it is their turn.
#include "batcher/batch_order.h"

#include <utility>

#include "batcher/check.h"

namespace ferry {

BatchOrder::BatchOrder(int32_t max_batches)
    : parked_(static_cast<size_t>(max_batches)) {}

void BatchOrder::Finished(
    std::unique_ptr<Batch> batch,
    absl::FunctionRef<void(std::unique_ptr<Batch>)> resolve) {
  {
    MutexLock lock(mutex_);
    std::unique_ptr<Batch>& place = PlaceOf(batch->sequence());
    Check(place == nullptr, "no more batches are under way than were said");
    place = std::move(batch);
    if (is_resolving_) {
      return;
    }
    is_resolving_ = true;
  }
  for (;;) {
    std::unique_ptr<Batch> next;
    {
      MutexLock lock(mutex_);
      next = std::move(PlaceOf(next_));
      if (next == nullptr) {
        is_resolving_ = false;
        return;
      }
      ++next_;
    }
    resolve(std::move(next));
  }
}

}  // namespace ferry
