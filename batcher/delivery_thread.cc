// A queue of batches and the thread that empties it.
#include "batcher/delivery_thread.h"

#include <pthread.h>

#include <utility>

#include "batcher/thread_priority.h"

namespace ferry {

DeliveryThread::DeliveryThread() : thread_([this] { Run(); }) {}

DeliveryThread::~DeliveryThread() {
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
  }
  changed_.SignalOne();
  thread_.join();
}

void DeliveryThread::Push(BatchPtr batch) {
  {
    MutexLock lock(mutex_);
    batches_.push_back(std::move(batch));
  }
  changed_.SignalOne();
}

void DeliveryThread::Run() {
  pthread_setname_np(pthread_self(), "ferry-deliver");
  RaiseThreadPriority();
  for (;;) {
    BatchPtr batch;
    {
      MutexLock lock(mutex_);
      while (batches_.empty() && !is_closed_) {
        changed_.Wait(mutex_);
      }
      if (batches_.empty()) {
        return;
      }
      batch = std::move(batches_.front());
      batches_.pop_front();
    }
    Deliver(std::move(batch));
  }
}

}  // namespace ferry
