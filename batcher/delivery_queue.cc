// Looking at the right time, or asleep.
#include "batcher/delivery_queue.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "batcher/thread_priority.h"

namespace ferry {

void DeliveryQueue::Push(Work work, Duration patience) {
  bool must_wake = true;
  {
    MutexLock lock(mutex_);
    items_.push_back(std::move(work));
    must_wake = patience == Duration(0) || looks_at_ == kNever ||
                looks_at_ > Clock::Steady().Now() + patience;
  }
  if (must_wake) {
    changed_.SignalOne();
  } else {
    spared_.fetch_add(1, std::memory_order_relaxed);
  }
}

void DeliveryQueue::Expect(TimePoint when, Duration patience) {
  MutexLock lock(mutex_);
  expected_ = when;
  patience_ = patience;
}

TimePoint DeliveryQueue::NextLook(TimePoint now) const {
  return expected_ == kNever || now >= expected_ + patience_
             ? kNever
             : std::max(expected_, now + patience_ / kLooks);
}

Work DeliveryQueue::Pop() {
  MutexLock lock(mutex_);
  while (items_.empty() && !closed_) {
    looks_at_ = NextLook(Clock::Steady().Now());
    changed_.WaitUntil(mutex_, looks_at_);
    looks_at_ = kNever;
  }
  Work work;
  if (!items_.empty()) {
    work = std::move(items_.front());
    items_.erase(items_.begin());
  }
  return work;
}

void DeliveryQueue::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.SignalAll();
}

void RunDeliveries(DeliveryQueue& to_deliver,
                   const std::function<void(BackendEvents&)>& taken) {
  pthread_setname_np(pthread_self(), "ferry-deliver");
  UsePreciseTimers();
  RaiseThreadPriority();
  for (;;) {
    Work work = to_deliver.Pop();
    if (work.batch == nullptr) {
      return;
    }
    if (taken) {
      taken(*work.events);
    }
    work.events->Finished(std::move(work.batch));
  }
}

}  // namespace ferry
