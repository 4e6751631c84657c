// Pacer is the time a load generator lives in; tests turn it by hand.
//
// Thread safety: Now() from any thread, SleepUntil() from one.
#ifndef FERRY_BENCH_LOAD_PACER_H_
#define FERRY_BENCH_LOAD_PACER_H_

#include "base/clock.h"
#include "base/event_count.h"

namespace ferry::bench {

class Pacer {
 public:
  virtual ~Pacer() = default;

  virtual TimePoint Now() const = 0;

  // Returns at `until` or as soon after it as it can.
  virtual void SleepUntil(TimePoint until) = 0;
};

// CLOCK_MONOTONIC. As precise as the process's timers are: call
// UsePreciseTimers() first thing in main().
class SteadyPacer final : public Pacer {
 public:
  TimePoint Now() const override { return Clock::Steady().Now(); }

  void SleepUntil(TimePoint until) override {
    while (Now() < until) {
      never_notified_.Wait(never_notified_.PrepareWait(), until);
    }
  }

 private:
  EventCount never_notified_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_PACER_H_
