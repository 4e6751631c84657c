// BurstArrivals sends bursts at the moments of a Poisson process, their sizes
// geometric ("batch Poisson"). The requests of a burst have gaps of 0.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_ARRIVALS_BURST_ARRIVALS_H_
#define FERRY_BENCH_ARRIVALS_BURST_ARRIVALS_H_

#include <cstdint>

#include "bench/arrivals/arrival_process.h"
#include "bench/arrivals/random_stream.h"

namespace ferry::bench {

class BurstArrivals final : public ArrivalProcess {
 public:
  // `per_second` counts requests, per_second / mean_burst bursts.
  // REQUIRES: per_second > 0, mean_burst >= 1.
  BurstArrivals(double per_second, double mean_burst, uint64_t seed);

 private:
  double DrawGapNs() override;

  const double mean_burst_;
  const double mean_gap_ns_;  // between bursts
  int64_t left_ = 0;          // of the burst under way
  RandomStream random_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVALS_BURST_ARRIVALS_H_
