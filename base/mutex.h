// Mutex, MutexLock and CondVar wrap std::mutex with thread-safety annotations.
//
// absl::Mutex is not used in batcher/: the distribution's prebuilt one makes
// ThreadSanitizer report races that are not there (docs/decisions/0006).
//
// Thread safety: thread-safe. Between a request and its batch none is taken
// (batcher/): a lock that all requests take is what they wait for.
#ifndef FERRY_BASE_MUTEX_H_
#define FERRY_BASE_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"

namespace ferry {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // Waits for a signal. Wakes without one, too: call it in a loop.
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    signal_.wait(lock);
    lock.release();
  }

  // Does what Wait() does, but returns at `until` at the latest (kNever: no
  // limit).
  void WaitUntil(Mutex& mutex, TimePoint until)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (until == kNever) {
      return Wait(mutex);
    }
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    signal_.wait_until(lock, until);
    lock.release();
  }

  void SignalOne() { signal_.notify_one(); }
  void SignalAll() { signal_.notify_all(); }

 private:
  std::condition_variable signal_;
};

}  // namespace ferry

#endif  // FERRY_BASE_MUTEX_H_
