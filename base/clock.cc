// Implements Clock::Steady() with CLOCK_MONOTONIC, and UsePreciseTimers().
#include "base/clock.h"

#include <sys/prctl.h>

namespace ferry {
namespace {

class SteadyClock final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& Clock::Steady() {
  static const SteadyClock clock;
  return clock;
}

void UsePreciseTimers() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace ferry
