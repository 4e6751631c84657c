// Exponential gaps by inversion of 53 random bits.
#include "bench/arrival_process.h"

#include <cmath>

#include "batcher/check.h"

namespace ferry::bench {

PoissonArrivals::PoissonArrivals(double per_second, uint64_t seed)
    : mean_gap_ns_(1e9 / per_second), random_(seed) {
  Check(per_second > 0, "an arrival rate is positive");
}

Duration PoissonArrivals::NextGap() {
  // Uniform in (0, 1]: the logarithm is finite.
  const double uniform = static_cast<double>((random_() >> 11) + 1) * 0x1p-53;
  const double gap_ns = -std::log(uniform) * mean_gap_ns_ + remainder_ns_;
  const double whole_ns = std::floor(gap_ns);
  remainder_ns_ = gap_ns - whole_ns;
  return Duration(static_cast<int64_t>(whole_ns));
}

}  // namespace ferry::bench
