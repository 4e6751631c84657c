// Implements the constructors of renewal arrivals: rates to parameters of gaps.
#include "bench/arrivals/renewal_arrivals.h"

#include "base/check.h"

namespace ferry::bench {

ConstantArrivals::ConstantArrivals(double per_second)
    : gap_ns_(1e9 / per_second) {
  Check(per_second > 0, "an arrival rate is positive");
}

PoissonArrivals::PoissonArrivals(double per_second, uint64_t seed)
    : mean_gap_ns_(1e9 / per_second), random_(seed) {
  Check(per_second > 0, "an arrival rate is positive");
}

// A gamma of shape k and scale s has mean k * s and cv 1 / sqrt(k).
GammaArrivals::GammaArrivals(double per_second, double cv, uint64_t seed)
    : shape_(1 / (cv * cv)),
      scale_ns_(1e9 / per_second / shape_),
      random_(seed) {
  Check(per_second > 0, "an arrival rate is positive");
  Check(cv > 0, "a coefficient of variation is positive");
}

}  // namespace ferry::bench
