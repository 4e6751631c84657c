// Implements ShardedArrivals: sums of gaps. They are whole nanoseconds, which a
// double holds up to 104 days: nothing is rounded.
#include "bench/arrivals/sharded_arrivals.h"

#include <utility>

#include "base/check.h"

namespace ferry::bench {

ShardedArrivals::ShardedArrivals(std::unique_ptr<ArrivalProcess> all,
                                 int32_t index, int32_t count)
    : all_(std::move(all)), count_(count), next_(index + 1) {
  Check(index >= 0 && index < count, "an index is below the count");
}

double ShardedArrivals::DrawGapNs() {
  double gap_ns = 0;
  for (; next_ > 0; --next_) {
    gap_ns += static_cast<double>(all_->NextGap().count());
  }
  next_ = count_;
  return gap_ns;
}

}  // namespace ferry::bench
