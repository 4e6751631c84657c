// FakeClock is a Clock that stands still until the test moves it.
//
// Thread safety: thread-safe.
#ifndef FERRY_TESTS_SUPPORT_FAKE_CLOCK_H_
#define FERRY_TESTS_SUPPORT_FAKE_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace ferry {

class FakeClock final : public Clock {
 public:
  TimePoint Now() const override {
    return FromNanos(nanos_.load(std::memory_order_seq_cst));
  }

  // REQUIRES: by >= 0.
  void Advance(Duration by) {
    nanos_.fetch_add(by.count(), std::memory_order_seq_cst);
  }

 private:
  std::atomic<int64_t> nanos_{1'000'000'000};
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_FAKE_CLOCK_H_
