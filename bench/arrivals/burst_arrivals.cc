// Implements BurstArrivals: draws a gap and a size once a burst is spent.
#include "bench/arrivals/burst_arrivals.h"

#include "base/check.h"

namespace ferry::bench {

BurstArrivals::BurstArrivals(double per_second, double mean_burst,
                             uint64_t seed)
    : mean_burst_(mean_burst),
      mean_gap_ns_(mean_burst * 1e9 / per_second),
      random_(seed) {
  Check(per_second > 0, "an arrival rate is positive");
}

double BurstArrivals::DrawGapNs() {
  if (left_ > 0) {
    --left_;
    return 0;
  }
  left_ = random_.Geometric(mean_burst_) - 1;
  return random_.Exponential() * mean_gap_ns_;
}

}  // namespace ferry::bench
