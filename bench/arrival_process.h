// ArrivalProcess says when an open loop sends: the gaps between planned sends.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_ARRIVAL_PROCESS_H_
#define FERRY_BENCH_ARRIVAL_PROCESS_H_

#include <cstdint>
#include <random>

#include "batcher/clock.h"

namespace ferry::bench {

class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;

  // Returns the time from the last planned send to the next, >= 0.
  virtual Duration NextGap() = 0;
};

// Independent arrivals at a mean rate: exponential gaps, drawn from the seed by
// inversion, so that a seed gives the same gaps with any standard library.
class PoissonArrivals final : public ArrivalProcess {
 public:
  // REQUIRES: per_second > 0.
  PoissonArrivals(double per_second, uint64_t seed);

  Duration NextGap() override;

 private:
  const double mean_gap_ns_;
  std::mt19937_64 random_;
  // What rounding to whole nanoseconds left over; kept so that the rate holds.
  double remainder_ns_ = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVAL_PROCESS_H_
