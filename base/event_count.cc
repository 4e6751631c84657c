// Implements EventCount: waits on a futex until an absolute, monotonic moment.
#include "base/event_count.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ferry {
namespace {

// std::atomic<uint32_t> is the futex word itself.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

timespec ToTimespec(TimePoint until) {
  const int64_t nanos = ToNanos(until);
  constexpr int64_t kPerSecond = 1'000'000'000;
  timespec result{};
  result.tv_sec = static_cast<time_t>(nanos / kPerSecond);
  result.tv_nsec = static_cast<long>(nanos % kPerSecond);
  return result;
}

}  // namespace

void EventCount::Wait(Key key, TimePoint until) {
  const timespec limit = ToTimespec(until);
  const timespec* const timeout = until == kNever ? nullptr : &limit;
  while (word_.load(std::memory_order_seq_cst) == key) {
    // FUTEX_WAIT_BITSET takes an absolute time on CLOCK_MONOTONIC. EAGAIN and
    // EINTR are looked at by the loop; ETIMEDOUT ends it.
    const long result = syscall(SYS_futex, &word_, FUTEX_WAIT_BITSET_PRIVATE,
                                key, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result != 0 && timeout != nullptr && Clock::Steady().Now() >= until) {
      break;
    }
  }
  CancelWait();
}

void EventCount::WakeWaiter(Key word) {
  // A failed exchange means that another notifier was here, or that the waiter
  // has left and announced itself again: then it has looked after our work
  // was published. Either way our work is seen.
  if (word_.compare_exchange_strong(word, (word & ~kWaiting) + kOneWakeUp,
                                    std::memory_order_seq_cst)) {
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

}  // namespace ferry
