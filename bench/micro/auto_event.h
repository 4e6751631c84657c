// EventCountEvent and its like give one interface to what a thread can sleep
// on: an event that Notify() sets and Await() waits for and takes back.
//
// Thread safety: Notify() from one thread, Await() from another.
#ifndef FERRY_BENCH_MICRO_AUTO_EVENT_H_
#define FERRY_BENCH_MICRO_AUTO_EVENT_H_

#include <concurrentqueue/blockingconcurrentqueue.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <semaphore>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/event_count.h"

namespace ferry::bench {

// As the scheduler uses it: news are published, then the waiter is notified.
class EventCountEvent {
 public:
  void Notify() {
    is_set_.store(true, std::memory_order_seq_cst);
    events_.Notify();
  }

  void Await() {
    while (!is_set_.exchange(false, std::memory_order_seq_cst)) {
      const EventCount::Key key = events_.PrepareWait();
      if (is_set_.load(std::memory_order_seq_cst)) {
        events_.CancelWait();
        continue;
      }
      events_.Wait(key, kNever);
    }
  }

 private:
  std::atomic<bool> is_set_{false};
  EventCount events_;
};

class ConditionVariableEvent {
 public:
  void Notify() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_set_ = true;
    }
    changed_.notify_one();
  }

  void Await() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
    is_set_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

class AbslCondVarEvent {
 public:
  void Notify() {
    {
      const absl::MutexLock lock(&mutex_);
      is_set_ = true;
    }
    changed_.Signal();
  }

  void Await() {
    const absl::MutexLock lock(&mutex_);
    while (!is_set_) {
      changed_.Wait(&mutex_);
    }
    is_set_ = false;
  }

 private:
  absl::Mutex mutex_;
  absl::CondVar changed_;
  bool is_set_ = false;
};

// An absl::Notification is of one use: Await() makes the next.
class AbslNotificationEvent {
 public:
  AbslNotificationEvent() { notification_.emplace(); }

  // REQUIRES: the last one was awaited.
  void Notify() { notification_->Notify(); }

  void Await() {
    notification_->WaitForNotification();
    notification_.emplace();
  }

 private:
  std::optional<absl::Notification> notification_;
};

class AtomicWaitEvent {
 public:
  void Notify() {
    is_set_.store(1, std::memory_order_release);
    is_set_.notify_one();
  }

  void Await() {
    is_set_.wait(0, std::memory_order_acquire);
    is_set_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint32_t> is_set_{0};
};

class SemaphoreEvent {
 public:
  // REQUIRES: the last one was awaited.
  void Notify() { semaphore_.release(); }
  void Await() { semaphore_.acquire(); }

 private:
  std::binary_semaphore semaphore_{0};
};

// moodycamel's, which spins for some microseconds before it sleeps.
class LightweightSemaphoreEvent {
 public:
  void Notify() { semaphore_.signal(); }
  void Await() { semaphore_.wait(); }

 private:
  moodycamel::LightweightSemaphore semaphore_;
};

// A system call each time: the floor of a wake-up, not of a Notify() that
// finds no waiter.
class FutexEvent {
 public:
  void Notify() {
    is_set_.store(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &is_set_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  void Await() {
    while (is_set_.exchange(0, std::memory_order_seq_cst) == 0) {
      syscall(SYS_futex, &is_set_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
  }

 private:
  std::atomic<uint32_t> is_set_{0};
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_AUTO_EVENT_H_
