// JoinableThread is a thread that can be waited for until a moment.
//
// Thread safety: Start() and JoinBy() by one thread at a time. The owner tells
// what runs to end, and joins it before it destroys what that uses.
#ifndef FERRY_BASE_JOINABLE_THREAD_H_
#define FERRY_BASE_JOINABLE_THREAD_H_

#include <functional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

class JoinableThread {
 public:
  // Once.
  void Start(std::function<void()> run) {
    {
      MutexLock lock(mutex_);
      has_ended_ = false;
    }
    thread_ = std::thread([this, run = std::move(run)] {
      run();
      MutexLock lock(mutex_);
      has_ended_ = true;
      changed_.SignalAll();
    });
  }

  // Waits until it has ended, at most until `until`; true where it has, or was
  // never started.
  bool JoinBy(TimePoint until) {
    {
      MutexLock lock(mutex_);
      while (!has_ended_ && Clock::Steady().Now() < until) {
        changed_.WaitUntil(mutex_, until);
      }
      if (!has_ended_) {
        return false;
      }
    }
    if (thread_.joinable()) {
      thread_.join();
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = true;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_BASE_JOINABLE_THREAD_H_
