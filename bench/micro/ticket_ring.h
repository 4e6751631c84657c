// TicketRing is a bounded queue of many producers and one consumer in which a
// producer draws a ticket and then fills the slot of its number. Written for
// comparison with base/push_list.h; Ferry does not use it.
//
// The consumer stops at the first slot that is drawn and not yet filled: a
// producer that is descheduled there hides all later items.
//
// Thread safety: TryPush() from any thread, TryPop() from one.
#ifndef FERRY_BENCH_MICRO_TICKET_RING_H_
#define FERRY_BENCH_MICRO_TICKET_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ferry::bench {

struct NoRingPause {
  void operator()() const {}
};

template <typename T, typename TestingOnlyPause = NoRingPause>
class TicketRing {
 public:
  // REQUIRES: capacity is a power of two.
  explicit TicketRing(size_t capacity)
      : mask_(capacity - 1), slots_(new Slot[capacity]) {
    for (size_t i = 0; i < capacity; ++i) {
      slots_[i].turn.store(i, std::memory_order_relaxed);
    }
  }

  // Returns whether there was room.
  bool TryPush(T* item) {
    uint64_t ticket = tail_.load(std::memory_order_relaxed);
    while (true) {
      Slot& slot = slots_[ticket & mask_];
      const uint64_t turn = slot.turn.load(std::memory_order_acquire);
      const auto ahead = static_cast<int64_t>(turn - ticket);
      if (ahead < 0) {
        return false;
      }
      if (ahead > 0) {
        ticket = tail_.load(std::memory_order_relaxed);
        continue;
      }
      if (tail_.compare_exchange_weak(ticket, ticket + 1,
                                      std::memory_order_relaxed)) {
        TestingOnlyPause()();
        slot.item = item;
        slot.turn.store(ticket + 1, std::memory_order_release);
        return true;
      }
    }
  }

  // Returns the oldest item, or null where none is filled in turn.
  T* TryPop() {
    Slot& slot = slots_[head_ & mask_];
    if (slot.turn.load(std::memory_order_acquire) != head_ + 1) {
      return nullptr;
    }
    T* const item = slot.item;
    slot.turn.store(head_ + mask_ + 1, std::memory_order_release);
    ++head_;
    return item;
  }

 private:
  struct Slot {
    // Ticket whose turn it is to fill; ticket + 1 once filled.
    std::atomic<uint64_t> turn;
    T* item;
  };

  const size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) uint64_t head_ = 0;  // consumer only
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_TICKET_RING_H_
