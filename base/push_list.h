// PushList lets many threads push and one thread take everything at once.
//
// DESCRIPTION
// An intrusive, lock-free list: Push() links an item with one compare-and-swap
// and TakeAll() empties the list with one exchange and returns the items,
// oldest first. Nothing is allocated. There is no bound of its own: Admission
// bounds what is pushed.
//
// IMPLEMENTATION
// A stack of pushed items (Treiber, 1986). TakeAll() takes the whole stack and
// reverses it, so there is no ABA problem: no thread pops one item. A producer
// that is descheduled between link and publish hides only its own item; a
// ticket ring would stop at its slot (docs/decisions/0002-queue.md).
//
// Thread safety: Push() and empty() from any thread; TakeAll() from one.
// Progress: TakeAll() is wait-free up to the reversal, Push() lock-free.
// Memory ordering: what a thread did before Push(x) is visible to the thread
// whose TakeAll() returned x. Push() and empty() are sequentially consistent,
// so that EventCount's "push, then look for a waiter" cannot miss
// (base/event_count.h).
#ifndef FERRY_BASE_PUSH_LIST_H_
#define FERRY_BASE_PUSH_LIST_H_

#include <atomic>

namespace ferry {

// Called by Push() between link and publish; tests and bench/micro pause there.
struct NoPause {
  void operator()() const {}
};

template <typename T, T* T::*kNext, typename TestingOnlyPause = NoPause>
class PushList {
 public:
  // REQUIRES: `item` is on no list and outlives its being taken.
  void Push(T& item) {
    T* head = head_.load(std::memory_order_relaxed);
    do {
      item.*kNext = head;
      TestingOnlyPause()();
    } while (!head_.compare_exchange_weak(
        head, &item, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  // Returns the oldest item, linked by kNext to newer ones, or null.
  T* TakeAll() {
    T* newest_first = head_.exchange(nullptr, std::memory_order_acquire);
    T* oldest_first = nullptr;
    while (newest_first != nullptr) {
      T* const older = newest_first->*kNext;
      newest_first->*kNext = oldest_first;
      oldest_first = newest_first;
      newest_first = older;
    }
    return oldest_first;
  }

  bool empty() const {
    return head_.load(std::memory_order_seq_cst) == nullptr;
  }

 private:
  alignas(64) std::atomic<T*> head_{nullptr};
};

}  // namespace ferry

#endif  // FERRY_BASE_PUSH_LIST_H_
