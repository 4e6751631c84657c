// Tests moments of distributions, and that a seed's numbers never change.
#include "bench/arrivals/random_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace ferry::bench {
namespace {

constexpr int kDraws = 400000;

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments MomentsOf(const std::function<double()>& draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

TEST(RandomStreamTest, NormalHasMeanZeroAndVarianceOne) {
  RandomStream random(3);
  const Moments moments = MomentsOf([&] { return random.Normal(); });
  EXPECT_NEAR(moments.mean, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(moments.variance, 1, 5 * std::sqrt(2.0 / kDraws));
}

TEST(RandomStreamTest, GammaHasItsShapeAsMeanAndVariance) {
  for (const double shape : {0.05, 0.5, 1.0, 2.5, 40.0}) {
    RandomStream random(4);
    const Moments moments = MomentsOf([&] { return random.Gamma(shape); });
    EXPECT_NEAR(moments.mean, shape, 5 * std::sqrt(shape / kDraws)) << shape;
    // The variance of a gamma's sample variance is (2 + 6 / shape) / n of its
    // square.
    EXPECT_NEAR(moments.variance / shape, 1,
                5 * std::sqrt((2 + 6 / shape) / kDraws))
        << shape;
  }
}

TEST(RandomStreamTest, GeometricCountsTrials) {
  for (const double mean : {1.5, 8.0, 1000.0}) {
    RandomStream random(5);
    int ones = 0;
    const Moments moments = MomentsOf([&] {
      const int64_t trials = random.Geometric(mean);
      EXPECT_GE(trials, 1);
      ones += trials == 1 ? 1 : 0;
      return static_cast<double>(trials);
    });
    EXPECT_NEAR(moments.mean / mean, 1, 5 / std::sqrt(kDraws)) << mean;
    EXPECT_NEAR(ones / double{kDraws}, 1 / mean, 5 * std::sqrt(0.25 / kDraws));
  }
  RandomStream random(6);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(random.Geometric(1), 1);
  }
}

TEST(RandomStreamTest, FirstNumbersOfASeedNeverChange) {
  // Results of different machines compare only while this holds.
  RandomStream random(1);
  EXPECT_NEAR(random.Normal(), -0.039399956754155, 1e-12);
  EXPECT_NEAR(random.Gamma(2.5), 1.820495493491357, 1e-12);
  EXPECT_NEAR(random.Gamma(0.25), 2.337879005186e-05, 1e-15);
  EXPECT_EQ(random.Geometric(100), 59);
}

}  // namespace
}  // namespace ferry::bench
