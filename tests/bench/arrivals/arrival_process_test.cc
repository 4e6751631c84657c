// Tests that whole nanoseconds lose nothing of a gap, and bound its length.
#include "bench/arrivals/arrival_process.h"

#include <gtest/gtest.h>

#include <limits>

namespace ferry::bench {
namespace {

class EqualGaps final : public ArrivalProcess {
 public:
  explicit EqualGaps(double gap_ns) : gap_ns_(gap_ns) {}

 private:
  double DrawGapNs() override { return gap_ns_; }

  const double gap_ns_;
};

TEST(ArrivalProcessTest, RemaindersAreCarried) {
  for (const double gap_ns : {0.25, 0.4, 1.75, 1e9 / 3}) {
    EqualGaps arrivals(gap_ns);
    Duration sum{0};
    for (int i = 0; i < 10000; ++i) {
      sum += arrivals.NextGap();
    }
    EXPECT_NEAR(static_cast<double>(sum.count()), 10000 * gap_ns, 1.01)
        << gap_ns;
  }
}

TEST(ArrivalProcessTest, EndlessGapsAreCut) {
  EqualGaps arrivals(std::numeric_limits<double>::infinity());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(arrivals.NextGap(), Duration(int64_t{1} << 62));
  }
}

}  // namespace
}  // namespace ferry::bench
