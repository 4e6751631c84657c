// ArrivalRate estimates how many rows arrive a second, over a short and a long
// horizon, and takes the larger: a burst counts at once, a lull only after it
// lasts.
//
// Each is a count that decays exponentially with the horizon as time constant:
// an arrival adds rows / horizon.
//
// Thread safety: thread-compatible; the scheduler's.
#ifndef FERRY_BATCHER_INTERNAL_ARRIVAL_RATE_H_
#define FERRY_BATCHER_INTERNAL_ARRIVAL_RATE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/clock.h"

namespace ferry {

class ArrivalRate {
 public:
  static constexpr Duration kShort = std::chrono::milliseconds(50);
  static constexpr Duration kLong = std::chrono::seconds(1);

  // REQUIRES: moments do not go back by more than they are apart from now.
  void Add(TimePoint arrival, int32_t rows) {
    for (Average& average : averages_) {
      average.per_ns = average.At(last_, arrival) + rows / average.horizon_ns;
    }
    last_ = std::max(last_, arrival);
  }

  double RowsPerNano(TimePoint now) const {
    return std::max(averages_[0].At(last_, now), averages_[1].At(last_, now));
  }

 private:
  struct Average {
    double horizon_ns;
    double per_ns = 0;

    double At(TimePoint last, TimePoint now) const {
      const auto passed = static_cast<double>(ElapsedNanos(now - last));
      return per_ns * std::exp(-passed / horizon_ns);
    }
  };

  std::array<Average, 2> averages_ = {
      Average{.horizon_ns = static_cast<double>(kShort.count())},
      Average{.horizon_ns = static_cast<double>(kLong.count())}};
  TimePoint last_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_ARRIVAL_RATE_H_
