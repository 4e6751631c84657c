// DeliveryQueue: from lanes to the thread that delivers what they computed.
//
// To wake that thread takes the lane 5 to 30 us (another processor has to be
// interrupted, which is dear in a virtual machine). So where a lane goes on to
// the next batch, the thread has itself woken by a timer about when that one is
// expected to end, looks a few times, and is woken by the lane only if it would
// look too late.
//
// Invariant: what is put in is looked at within the patience that went with
// it, or wakes the thread. Times are those of Clock::Steady().
//
// Thread safety: thread-safe; Pop() from one thread.
#ifndef FERRY_BATCHER_DELIVERY_QUEUE_H_
#define FERRY_BATCHER_DELIVERY_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "batcher/clock.h"
#include "batcher/mutex.h"
#include "batcher/work_queue.h"

namespace ferry {

class DeliveryQueue {
 public:
  // `patience`: how long it may lie there before the thread looks at it.
  void Push(Work work, Duration patience = Duration(0));

  // Something is expected to come about then. The thread looks from then on for
  // `patience`, if it has run out of work before.
  void Expect(TimePoint when, Duration patience);

  // The oldest; waits for one. None (batch is null) when closed and empty.
  Work Pop();

  void Close();

  // How many did not wake the thread, as it would look in time.
  int64_t spared() const { return spared_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kLooks = 4;

  // When Pop() looks the next time without being woken; kNever: it does not.
  TimePoint NextLook(TimePoint now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  TimePoint expected_ ABSL_GUARDED_BY(mutex_) = kNever;
  Duration patience_ ABSL_GUARDED_BY(mutex_){0};
  // Until when Pop() sleeps at most; kNever also where it does not sleep.
  TimePoint looks_at_ ABSL_GUARDED_BY(mutex_) = kNever;
  // Oldest first; a handful at most, bounded by the batcher's batches.
  std::vector<Work> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<int64_t> spared_{0};
};

// Runs a thread that delivers: ends the requests of what is put in, oldest
// first, until the queue is closed and empty. Before each calls `taken`, if
// there is one.
void RunDeliveries(DeliveryQueue& to_deliver,
                   const std::function<void(BackendEvents&)>& taken = nullptr);

}  // namespace ferry

#endif  // FERRY_BATCHER_DELIVERY_QUEUE_H_
