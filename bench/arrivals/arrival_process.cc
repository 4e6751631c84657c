// Implements ArrivalProcess: gaps in whole nanoseconds, the remainder carried.
#include "bench/arrivals/arrival_process.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ferry::bench {
namespace {

constexpr double kLongestGapNs = 0x1p62;  // fits Duration

}  // namespace

Duration ArrivalProcess::NextGap() {
  const double gap_ns = std::min(DrawGapNs() + remainder_ns_, kLongestGapNs);
  const double whole_ns = std::floor(gap_ns);
  remainder_ns_ = gap_ns - whole_ns;
  return Duration(static_cast<int64_t>(whole_ns));
}

}  // namespace ferry::bench
