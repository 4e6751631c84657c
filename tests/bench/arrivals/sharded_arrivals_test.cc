// Tests that the shards of a plan together send just that plan.
#include "bench/arrivals/sharded_arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/arrivals/arrival_shape.h"

namespace ferry::bench {
namespace {

constexpr int kArrivals = 3000;

std::vector<int64_t> Moments(ArrivalProcess& arrivals, int count) {
  std::vector<int64_t> moments;
  Duration now{0};
  for (int i = 0; i < count; ++i) {
    now += arrivals.NextGap();
    moments.push_back(now.count());
  }
  return moments;
}

TEST(ShardedArrivalsTest, AllDealersTogetherSendTheWholePlanOfAnyKind) {
  for (const char* kind :
       {"poisson", "constant", "gamma:3", "bursts:8", "onoff:10,40"}) {
    const auto shape = ParseArrivals(kind);
    ASSERT_TRUE(shape.ok()) << shape.status();
    const auto whole = shape->make(997, 5);
    const std::vector<int64_t> expected = Moments(*whole, kArrivals);
    for (const int count : {1, 2, 3}) {
      std::vector<int64_t> sharded;
      for (int index = 0; index < count; ++index) {
        ShardedArrivals own(shape->make(997, 5), index, count);
        for (const int64_t moment : Moments(own, kArrivals / count)) {
          sharded.push_back(moment);
        }
      }
      std::sort(sharded.begin(), sharded.end());
      EXPECT_EQ(sharded, expected) << kind << " over " << count;
    }
  }
}

TEST(ShardedArrivalsTest, ADealerHasEverySoManiethArrival) {
  const ArrivalShape shape = PoissonShape();
  const std::vector<int64_t> whole = Moments(*shape.make(100, 1), 30);
  ShardedArrivals third(shape.make(100, 1), 2, 3);
  for (const size_t i : {2, 5, 8, 11}) {
    EXPECT_EQ(third.NextGap().count(), whole[i] - (i == 2 ? 0 : whole[i - 3]))
        << i;
  }
}

}  // namespace
}  // namespace ferry::bench
