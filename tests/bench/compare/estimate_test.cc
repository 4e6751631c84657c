// Tests known answers, and how often chance is taken for a difference.
#include "bench/compare/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;

constexpr int kTrials = 2000;

// Holds logarithms of latencies on a machine whose speed changes from one pair
// to the next by 10 %, and by 3 % within each.
struct Pairs {
  std::vector<double> a;
  std::vector<double> b;
};

Pairs DrawPairs(std::mt19937_64& random, int count, double ratio,
                double shared_deviation) {
  std::normal_distribution<double> moment(0, 1);
  std::normal_distribution<double> noise(0, 0.03);
  Pairs pairs;
  for (int k = 0; k < count; ++k) {
    const double shared = shared_deviation * moment(random);
    pairs.a.push_back(shared + noise(random));
    pairs.b.push_back(shared + noise(random) + std::log(ratio));
  }
  return pairs;
}

// The share of trials in which B is told from A.
template <typename Estimator>
double ShareTold(double ratio, Estimator estimator,
                 double shared_deviation = 0.10) {
  std::mt19937_64 random(20260101);
  int told = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Pairs pairs = DrawPairs(random, 5, ratio, shared_deviation);
    const auto estimate = estimator(pairs.a, pairs.b);
    told += estimate.has_value() && estimate->p_value < kChance ? 1 : 0;
  }
  return static_cast<double>(told) / kTrials;
}

TEST(EstimateTest, PairsTakeTheSameForDifferentInFiveOfAHundred) {
  EXPECT_NEAR(ShareTold(1, EstimatePaired), 0.05, 0.015);
}

TEST(EstimateTest, RepeatsTakeTheSameForDifferentInFiveOfAHundred) {
  EXPECT_NEAR(ShareTold(1, EstimateUnpaired, 0), 0.05, 0.015);
  // What pairs share hides from it what differs.
  EXPECT_LT(ShareTold(1, EstimateUnpaired), 0.05);
}

TEST(EstimateTest, FivePairsShowTenPercentThatRepeatsCannot) {
  EXPECT_GT(ShareTold(1.1, EstimatePaired), 0.95);
  EXPECT_LT(ShareTold(1.1, EstimateUnpaired), 0.5);
}

TEST(EstimateTest, PairedIsTheTOfTheDifferences) {
  const auto estimate = EstimatePaired({1, 2, 3, 4}, {2, 4, 4, 6});
  ASSERT_TRUE(estimate.has_value());
  EXPECT_DOUBLE_EQ(estimate->difference, 1.5);  // of 1, 2, 1, 2
  const double half = 3.182446 * std::sqrt(1.0 / 3 / 4);
  EXPECT_NEAR(estimate->low, 1.5 - half, 1e-5);
  EXPECT_NEAR(estimate->high, 1.5 + half, 1e-5);
  EXPECT_FALSE(EstimatePaired({1}, {2}).has_value());
}

// t = 8 / sqrt(7) of 3.295 degrees; its chance by integrating the density.
TEST(EstimateTest, UnpairedIsWelchs) {
  const auto estimate = EstimateUnpaired({1, 2, 3}, {4, 8, 12, 16});
  ASSERT_TRUE(estimate.has_value());
  EXPECT_DOUBLE_EQ(estimate->difference, 8);
  EXPECT_NEAR(estimate->p_value, 0.0501448, 1e-6);
  EXPECT_LT(estimate->low, 0);  // not quite 95 %
  EXPECT_GT(estimate->low, -0.1);
}

TEST(EstimateTest, OneRunIsComparedByWhatRepeatsOfTheOtherVaryBy) {
  const auto estimate = EstimateUnpaired({1, 2, 3}, {9});
  ASSERT_TRUE(estimate.has_value());
  EXPECT_NEAR(estimate->high - estimate->difference,
              4.302653 * std::sqrt(1 + 1.0 / 3), 1e-5);
  EXPECT_FALSE(EstimateUnpaired({1, 2}, {9}).has_value());
  EXPECT_FALSE(EstimateUnpaired({}, {1, 2, 3}).has_value());
}

TEST(EstimateTest, WhatDoesNotVaryDiffersOrDoesNot) {
  EXPECT_EQ(EstimatePaired({1, 2}, {1, 2})->p_value, 1);
  EXPECT_EQ(EstimatePaired({1, 2}, {2, 3})->p_value, 0);
  EXPECT_EQ(EstimateOf({1, 0, 9}, {1, 0, 9}).p_value, 1);
}

TEST(EstimateTest, WhatDidNotVaryTakesAnErrorFromElsewhere) {
  const auto certain = EstimatePaired({1, 2, 3}, {2, 3, 4});
  EXPECT_EQ(certain->error, 0);
  EXPECT_FALSE(WithError(*certain, 0).has_value());
  const auto unsure = WithError(*certain, 0.5);  // t = 2 of 2 degrees
  ASSERT_TRUE(unsure.has_value());
  EXPECT_NEAR(unsure->low, 1 - 4.302653 / 2, 1e-5);
  EXPECT_NEAR(unsure->high, 1 + 4.302653 / 2, 1e-5);
  EXPECT_NEAR(unsure->p_value, 0.1835034, 1e-6);
  EXPECT_EQ(WithError(*EstimatePaired({1, 2}, {1, 2}), 0)->p_value, 1);
  // Repeats that never varied have their degrees all the same.
  EXPECT_EQ(EstimateUnpaired({1, 1, 1}, {2, 2, 2})->degrees, 4);
}

TEST(EstimateTest, HolmStopsAtTheFirstThatFails) {
  EXPECT_THAT(Holm({0.03, 0.001, 0.02}, 0.05),
              ElementsAre(true, true, true));  // 0.05 / 3, / 2, / 1
  EXPECT_THAT(Holm({0.03, 0.001, 0.026}, 0.05),
              ElementsAre(false, true, false));
  EXPECT_THAT(Holm({0.02, 0.02, 0.02}, 0.05), ElementsAre(false, false, false));
  EXPECT_THAT(Holm({}, 0.05), ElementsAre());
}

TEST(EstimateTest, NeighboursThatAreAlikeCountAsFewer) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 1);
  double alike = 0, apart = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> correlated, independent;
    double value = 0;
    for (int i = 0; i < 30; ++i) {
      value = 0.5 * value + noise(random);
      correlated.push_back(value);
      independent.push_back(noise(random));
    }
    alike += VarianceInflation(correlated) / 500;
    apart += VarianceInflation(independent) / 500;
  }
  EXPECT_NEAR(alike, 3, 0.6);  // (1 + 0.5) / (1 - 0.5)
  EXPECT_NEAR(apart, 1.2, 0.15);
}

TEST(EstimateTest, ValuesThatAreAlikeLeaveFewerDegrees) {
  EXPECT_DOUBLE_EQ(InflatedDegrees(10, 1), 9);
  EXPECT_DOUBLE_EQ(InflatedDegrees(10, 3), 10 * 0.6 - 1);  // r = 0.5
  EXPECT_DOUBLE_EQ(InflatedDegrees(10, 19), 1);            // r = 0.9
}

}  // namespace
}  // namespace ferry::bench
