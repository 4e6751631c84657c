// Implements VirtualInstances: plays the waits of instances and of the timer.
#include "batcher/sim/virtual_instances.h"

#include <algorithm>
#include <utility>

namespace ferry {

void VirtualInstances::Attach(Scheduler& scheduler) {
  scheduler_ = &scheduler;
  is_waiting_.assign(static_cast<size_t>(scheduler.instance_count()), false);
}

bool VirtualInstances::PullsNow(InstanceId id) const {
  return HasRoom(id) &&
         (!is_waiting_[static_cast<size_t>(id)] || scheduler_->IsNotified(id) ||
          clock_.Now() >= scheduler_->PullAt(id));
}

void VirtualInstances::Pull() {
  bool has_pulled = true;
  while (has_pulled) {  // the pull of one may notify another
    has_pulled = false;
    if (clock_.Now() >= scheduler_->look_at()) {
      scheduler_->LookAtQueue();
    }
    for (InstanceId id = 0; id < scheduler_->instance_count(); ++id) {
      while (PullsNow(id)) {
        has_pulled = true;
        BatchPtr batch = scheduler_->TryNextBatch(id);
        is_waiting_[static_cast<size_t>(id)] = batch == nullptr;
        if (batch != nullptr) {
          Begin(id, std::move(batch));
        }
      }
    }
  }
}

TimePoint VirtualInstances::next_pull() const {
  TimePoint next = scheduler_->look_at();
  for (InstanceId id = 0; id < scheduler_->instance_count(); ++id) {
    if (HasRoom(id)) {
      next = std::min(next, scheduler_->PullAt(id));
    }
  }
  return next;
}

}  // namespace ferry
