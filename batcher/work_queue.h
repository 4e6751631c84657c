// WorkQueue: a bounded hand-over of batches to the threads that work on them.
//
// A thread that finds none polls for a moment where that is worth it
// (IdleWait), since to wake a sleeping thread takes as long as many a batch;
// then it sleeps.
//
// Invariant: whoever puts something in finds, with the lock held, as many
// threads polling as there is to do, or wakes one.
//
// Thread safety: thread-safe.
#ifndef FERRY_BATCHER_WORK_QUEUE_H_
#define FERRY_BATCHER_WORK_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "batcher/backend.h"
#include "batcher/batch.h"
#include "batcher/clock.h"
#include "batcher/idle_wait.h"
#include "batcher/mutex.h"

namespace ferry {

// A batch, and who hears of it.
struct Work {
  std::unique_ptr<Batch> batch;
  BackendEvents* events = nullptr;
  int64_t number = 0;               // of those started, where that matters
  std::optional<Outcome> staged{};  // what came of it; none: it is not staged
};

class WorkQueue {
 public:
  void Push(Work work);

  // Sees to it that a thread which polls or sleeps in Pop() calls
  // events.LaneAwake() before it goes on, and again when that asks for it;
  // false: none waits.
  bool WakeOne(BackendEvents& events);

  bool has_work();

  // Whether a thread sleeps in Pop(), none polls there, and none has anything
  // to do.
  bool HasSleeper();

  // The oldest; waits for one. None (batch is null) when closed and empty.
  // `idle`: what the calling thread has learned of its waits here.
  Work Pop(IdleWait& idle);

  void Close();

 private:
  // Things to do that nobody has taken.
  int64_t open() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return static_cast<int64_t>(items_.size()) + (to_tell_ != nullptr ? 1 : 0);
  }

  // Until something was put in, or as long as `plan` says.
  void Wait(const IdleWait::Plan& plan, IdleWait& idle)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Poll(TimePoint until, IdleWait& idle)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  // What a polling thread looks at: counts what was put in. Written with the
  // lock held.
  alignas(64) std::atomic<uint32_t> changes_{0};
  // Threads in Pop() that wait, those included that poll; written with the
  // lock held.
  std::atomic<int32_t> waiting_{0};
  int32_t polling_ ABSL_GUARDED_BY(mutex_) = 0;
  BackendEvents* to_tell_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Oldest first; a handful at most, bounded by the batcher's batches.
  std::vector<Work> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_WORK_QUEUE_H_
