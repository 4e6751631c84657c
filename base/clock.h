// Clock is the one source of time: monotonic, injected so that tests turn it.
//
// Thread safety: Now() may be called from any thread.
#ifndef FERRY_BASE_CLOCK_H_
#define FERRY_BASE_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace ferry {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Later than every moment: a deadline that never passes.
inline constexpr TimePoint kNever = TimePoint::max();

class Clock {
 public:
  virtual ~Clock() = default;

  virtual TimePoint Now() const = 0;

  // CLOCK_MONOTONIC of this machine; lives as long as the process.
  static const Clock& Steady();
};

// Lets timed waits of the calling thread end as close to their time as the
// kernel can (PR_SET_TIMERSLACK 1 ns; 73 us late by default, 23 us with it).
void UsePreciseTimers();

// Nanoseconds since the clock's epoch, for atomics and JSON.
inline int64_t ToNanos(TimePoint time) {
  return time.time_since_epoch().count();
}
inline TimePoint FromNanos(int64_t nanos) { return TimePoint(Duration(nanos)); }

// Nanoseconds as counters take them: what a clock read out of order would make
// negative is 0.
inline uint64_t ElapsedNanos(Duration duration) {
  return static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0));
}

// Whole milliseconds and fractions of them, as a Duration.
inline Duration Milliseconds(double ms) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::milli>(ms));
}

}  // namespace ferry

#endif  // FERRY_BASE_CLOCK_H_
