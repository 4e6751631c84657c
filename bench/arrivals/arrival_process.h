// ArrivalProcess says when an open loop sends: the gaps between planned sends.
//
// Guarantee: what rounding to whole nanoseconds leaves over goes into the next
// gap, so that the mean rate holds in the long run.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_ARRIVALS_ARRIVAL_PROCESS_H_
#define FERRY_BENCH_ARRIVALS_ARRIVAL_PROCESS_H_

#include "base/clock.h"

namespace ferry::bench {

class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;

  // Returns the time from the last planned send to the next, >= 0, and at most
  // 2^62 ns (146 years).
  Duration NextGap();

 private:
  // Returns the next gap in ns, >= 0.
  virtual double DrawGapNs() = 0;

  double remainder_ns_ = 0;  // in [0, 1)
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVALS_ARRIVAL_PROCESS_H_
