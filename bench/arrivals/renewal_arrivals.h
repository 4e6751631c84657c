// Constant-, Poisson- and GammaArrivals draw independent gaps from one
// distribution.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_ARRIVALS_RENEWAL_ARRIVALS_H_
#define FERRY_BENCH_ARRIVALS_RENEWAL_ARRIVALS_H_

#include <cstdint>

#include "bench/arrivals/arrival_process.h"
#include "bench/arrivals/random_stream.h"

namespace ferry::bench {

// Equal gaps.
class ConstantArrivals final : public ArrivalProcess {
 public:
  // REQUIRES: per_second > 0.
  explicit ConstantArrivals(double per_second);

 private:
  double DrawGapNs() override { return gap_ns_; }

  const double gap_ns_;
};

// Exponential gaps: arrivals that know nothing of each other.
class PoissonArrivals final : public ArrivalProcess {
 public:
  // REQUIRES: per_second > 0.
  PoissonArrivals(double per_second, uint64_t seed);

 private:
  double DrawGapNs() override { return random_.Exponential() * mean_gap_ns_; }

  const double mean_gap_ns_;
  RandomStream random_;
};

// Gamma gaps with a coefficient of variation (standard deviation / mean) of
// `cv`: 1 is Poisson, less is more regular, more comes in bursts.
class GammaArrivals final : public ArrivalProcess {
 public:
  // REQUIRES: per_second > 0, cv > 0.
  GammaArrivals(double per_second, double cv, uint64_t seed);

 private:
  double DrawGapNs() override { return random_.Gamma(shape_) * scale_ns_; }

  const double shape_;
  const double scale_ns_;
  RandomStream random_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVALS_RENEWAL_ARRIVALS_H_
