// EventCount lets one thread sleep until another notifies it, or until a moment
// on the monotonic clock.
//
// The waiter:                         A notifier:
//   key = events.PrepareWait();         publish work;
//   if (there is work) {                events.Notify();
//     events.CancelWait();
//   } else {
//     events.Wait(key, until);
//   }
//
// Guarantee: no lost wake-up. Either the waiter's look after PrepareWait()
// sees the work, or Notify() sees the waiter: both sides are sequentially
// consistent, and so must be the publishing and the looking.
//
// Progress: Notify() is one load when no thread waits, else a compare-and-swap
// and a futex call. A notified waiter may return early; it must look again.
//
// Thread safety: Notify() from any thread, the others from one waiting thread.
#ifndef FERRY_BASE_EVENT_COUNT_H_
#define FERRY_BASE_EVENT_COUNT_H_

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace ferry {

class EventCount {
 public:
  using Key = uint32_t;

  // Announces the waiter. What is published after this is notified.
  Key PrepareWait() {
    return word_.fetch_or(kWaiting, std::memory_order_seq_cst) | kWaiting;
  }

  void CancelWait() { word_.fetch_and(~kWaiting, std::memory_order_seq_cst); }

  // Sleeps until notified since PrepareWait() returned `key`, or until `until`
  // on Clock::Steady() (kNever: no limit).
  void Wait(Key key, TimePoint until);

  // Whether it was notified since PrepareWait() returned `key`.
  bool HasMovedOn(Key key) const {
    return word_.load(std::memory_order_seq_cst) != key;
  }

  void Notify() {
    Key word = word_.load(std::memory_order_seq_cst);
    if ((word & kWaiting) != 0) [[unlikely]] {
      WakeWaiter(word);
    }
  }

 private:
  // The low bit: a thread waits or is about to. The rest counts wake-ups, so
  // that a key of an earlier wait never matches a later one.
  static constexpr Key kWaiting = 1;
  static constexpr Key kOneWakeUp = 2;

  void WakeWaiter(Key word);

  alignas(64) std::atomic<Key> word_{0};
};

}  // namespace ferry

#endif  // FERRY_BASE_EVENT_COUNT_H_
