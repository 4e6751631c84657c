// Which points have a cost; page_test.cc has the numbers.
#include "bench/report/money.h"

#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

PointResult Open(double achieved_rate) {
  PointResult point;
  point.loop = "open";
  point.offered_rate = 100;
  point.achieved_rate = achieved_rate;
  point.planned = point.ok = 1000;
  return point;
}

TEST(MoneyTest, WhoCannotGoOnLikeThatHasNoCost) {
  RunResult run;
  run.points = {Open(100), Open(100), Open(60)};
  run.points[1].unsteady = "the median latency went up";
  PagePrice price;
  price.device_per_hour = 2.52;
  const auto costs = CostOfPoints({run}, price);
  ASSERT_EQ(costs.size(), 1U) << "of the third the queue grew";
  EXPECT_EQ(costs[0].place, (PointPlace{0, 0}));
  EXPECT_DOUBLE_EQ(costs[0].per_million, 7);  // 2.52 / (3600 * 100) * 1e6
}

}  // namespace
}  // namespace ferry::bench
