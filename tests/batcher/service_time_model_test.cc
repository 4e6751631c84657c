// Tests that s(b) is learned: exact lines, noise, one size only, steps, drift.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "batcher/service_time.h"

namespace ferry {
namespace {

constexpr int32_t kMaxRows = 64;
constexpr double kAlphaNs = 1e6;
constexpr double kBetaNs = 3e4;

Duration TrueTime(int32_t rows, double speed = 1) {
  return Duration(static_cast<int64_t>((kAlphaNs + kBetaNs * rows) * speed));
}

class ServiceTimeModelTest : public ::testing::Test {
 protected:
  void Learn(int32_t rows, Duration took) {
    model_.Learn({.rows = rows, .took = took});
  }

  // Batches of random sizes whose times are off by at most `jitter` of them.
  void LearnMany(int count, double jitter, double speed = 1) {
    std::uniform_int_distribution<int32_t> rows(1, kMaxRows);
    std::uniform_real_distribution<double> factor(1 - jitter, 1 + jitter);
    for (int i = 0; i < count; ++i) {
      const int32_t size = rows(random_);
      Learn(size, TrueTime(size, speed * factor(random_)));
    }
  }

  std::mt19937_64 random_{7};
  ServiceTimeModel model_{kMaxRows};
};

TEST_F(ServiceTimeModelTest, SizesOfABucketAreOneSize) {
  ServiceTimeModel model(kMaxRows, {8, kMaxRows});
  for (int32_t rows = 1; rows <= kMaxRows; ++rows) {
    model.Learn({.rows = rows, .took = TrueTime(rows <= 8 ? 8 : kMaxRows)});
  }
  EXPECT_NEAR(model.line().beta_ns, kBetaNs, kBetaNs / 100);
  for (int32_t rows : {1, 8}) {
    EXPECT_NEAR(static_cast<double>(model.Expected(rows).count()),
                static_cast<double>(TrueTime(8).count()), 1e4);
  }
  for (int32_t rows : {9, kMaxRows}) {
    EXPECT_NEAR(static_cast<double>(model.Expected(rows).count()),
                static_cast<double>(TrueTime(kMaxRows).count()), 1e4);
  }
  EXPECT_GE(model.Bound(9), model.Expected(9));
}

// All sizes of a bucket, and no other, know its time once it ran with few rows;
// whether asked by the rows of a batch or by the bucket.
TEST_F(ServiceTimeModelTest, BucketIsKnownByEachOfItsSizes) {
  ServiceTimeModel model(kMaxRows, {8, 16, kMaxRows});
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(model.IsKnown(3)) << i;
    model.Learn({.rows = 11, .took = TrueTime(i % 2 == 0 ? 15 : 17)});
    model.Learn({.rows = 3, .took = TrueTime(i % 2 == 0 ? 7 : 9)});
  }
  for (int32_t rows = 1; rows <= kMaxRows; ++rows) {
    const int32_t bucket = rows <= 8 ? 8 : rows <= 16 ? 16 : kMaxRows;
    EXPECT_EQ(model.RowsThatRun(rows), bucket);
    EXPECT_EQ(model.IsKnown(rows), bucket < kMaxRows) << rows;
    EXPECT_EQ(model.Expected(rows), model.Expected(bucket)) << rows;
    EXPECT_EQ(model.Bound(rows), model.Bound(bucket)) << rows;
    EXPECT_GT(model.Bound(rows), model.Expected(rows)) << rows;
  }
  EXPECT_LT(model.Bound(8), model.Expected(16));
  EXPECT_LT(model.Bound(16), model.Expected(17));
}

TEST_F(ServiceTimeModelTest, WithoutBucketsEverySizeIsItsOwn) {
  for (int i = 0; i < 20; ++i) {
    Learn(3, TrueTime(3));
  }
  EXPECT_EQ(model_.RowsThatRun(3), 3);
  EXPECT_TRUE(model_.IsKnown(3));
  EXPECT_FALSE(model_.IsKnown(2));
  EXPECT_FALSE(model_.IsKnown(4));
}

TEST(ServiceTimeModelDeathTest, RowsThatNoBatchHasAreABug) {
  for (const ServiceTimeModel& model :
       {ServiceTimeModel(kMaxRows), ServiceTimeModel(kMaxRows, {kMaxRows})}) {
    EXPECT_DEATH(model.Expected(0), "1 to max_rows rows");
    EXPECT_DEATH(model.Bound(kMaxRows + 1), "1 to max_rows rows");
  }
}

TEST_F(ServiceTimeModelTest, NothingIsKnownAtFirst) {
  EXPECT_EQ(model_.line().alpha_ns, 0);
  EXPECT_EQ(model_.line().beta_ns, 0);
  EXPECT_EQ(model_.Expected(kMaxRows), Duration(0));
}

TEST_F(ServiceTimeModelTest, TwoSizesGiveTheLine) {
  for (int i = 0; i < 10; ++i) {
    Learn(1, TrueTime(1));
    Learn(kMaxRows, TrueTime(kMaxRows));
  }
  EXPECT_NEAR(model_.line().alpha_ns, kAlphaNs, 0.02 * kAlphaNs);
  EXPECT_NEAR(model_.line().beta_ns, kBetaNs, 0.02 * kBetaNs);
  const double middle = static_cast<double>(TrueTime(32).count());
  EXPECT_NEAR(static_cast<double>(model_.Expected(32).count()), middle,
              0.02 * middle);
}

TEST_F(ServiceTimeModelTest, NoiseAveragesOut) {
  LearnMany(2000, 0.1);
  EXPECT_NEAR(model_.line().alpha_ns, kAlphaNs, 0.05 * kAlphaNs);
  EXPECT_NEAR(model_.line().beta_ns, kBetaNs, 0.05 * kBetaNs);
  EXPECT_EQ(model_.drift_count(), 0u);
}

TEST_F(ServiceTimeModelTest, BoundIsPassedByFew) {
  LearnMany(2000, 0.1);
  std::uniform_real_distribution<double> factor(0.9, 1.1);
  int passed = 0;
  for (int i = 0; i < 1000; ++i) {
    passed += TrueTime(20, factor(random_)) > model_.Bound(20) ? 1 : 0;
  }
  EXPECT_LT(passed, 50);
  EXPECT_GT(model_.Bound(20), model_.Expected(20));
}

TEST_F(ServiceTimeModelTest, OneSizeOnlyKeepsTheLineFinite) {
  std::uniform_real_distribution<double> factor(0.9, 1.1);
  LearnMany(100, 0.02);
  for (int i = 0; i < 100'000; ++i) {
    Learn(8, TrueTime(8, factor(random_)));
  }
  // What was known of the slope is not lost to noise.
  EXPECT_NEAR(model_.line().beta_ns, kBetaNs, 0.7 * kBetaNs);
  const double expected = static_cast<double>(TrueTime(8).count());
  EXPECT_NEAR(static_cast<double>(model_.Expected(8).count()), expected,
              0.1 * expected);
}

TEST_F(ServiceTimeModelTest, NeitherCoefficientIsNegative) {
  // Larger batches that are faster.
  for (int i = 0; i < 50; ++i) {
    Learn(1, Milliseconds(5));
    Learn(kMaxRows, Milliseconds(1));
  }
  EXPECT_GE(model_.line().beta_ns, 0);
  EXPECT_GE(model_.line().alpha_ns, 0);
  // Time in proportion to more than the rows.
  ServiceTimeModel steep(kMaxRows);
  for (int i = 0; i < 50; ++i) {
    steep.Learn({.rows = 16, .took = Milliseconds(1)});
    steep.Learn({.rows = kMaxRows, .took = Milliseconds(10)});
  }
  EXPECT_GE(steep.line().alpha_ns, 0);
  EXPECT_GT(steep.line().beta_ns, 0);
}

TEST_F(ServiceTimeModelTest, SizeSeenOftenIsKnownBetterThanTheLine) {
  LearnMany(200, 0.02);
  for (int i = 0; i < 40; ++i) {  // a kernel that is slow at 33 rows
    Learn(33, TrueTime(33, 1.05));
  }
  const double expected = static_cast<double>(TrueTime(33, 1.05).count());
  EXPECT_NEAR(static_cast<double>(model_.Expected(33).count()), expected,
              0.01 * expected);
}

TEST_F(ServiceTimeModelTest, DeviceThatSlowsDownIsLearnedAfresh) {
  LearnMany(500, 0.02);
  EXPECT_EQ(model_.drift_count(), 0u);
  LearnMany(60, 0.02, /*speed=*/2);
  EXPECT_GE(model_.drift_count(), 1u);
  const double expected = static_cast<double>(TrueTime(32, 2).count());
  EXPECT_NEAR(static_cast<double>(model_.Expected(32).count()), expected,
              0.05 * expected);
}

// Where the time is in proportion to the rows, small and large batches are off
// by very different times.
TEST_F(ServiceTimeModelTest, DeviceThatSlowsDownIsLearnedFromAnyMixOfSizes) {
  const auto time = [](int32_t rows, double speed) {
    return Duration(static_cast<int64_t>(1e5 * (1 + rows) * speed));
  };
  std::uniform_real_distribution<double> factor(0.98, 1.02);
  for (const double speed : {1.0, 2.0, 0.6}) {
    for (int i = 0; i < 200; ++i) {
      for (const int32_t rows : {64, 4}) {
        Learn(rows, time(rows, speed * factor(random_)));
      }
    }
    for (const int32_t rows : {64, 4}) {
      const auto expected = static_cast<double>(time(rows, speed).count());
      EXPECT_NEAR(static_cast<double>(model_.Expected(rows).count()), expected,
                  0.02 * expected)
          << rows << " rows at " << speed;
    }
  }
  EXPECT_EQ(model_.drift_count(), 2u);
}

// Some sizes have their own times by then, others are known by the line.
TEST_F(ServiceTimeModelTest, DeviceThatSpeedsUpIsLearnedFromSizesOfAllKinds) {
  LearnMany(1200, 0.03);
  for (const double speed : {0.5, 1.0, 0.5}) {
    LearnMany(200, 0.03, speed);
    double off = 0;
    for (int32_t rows = 1; rows <= kMaxRows; ++rows) {
      const auto expected = static_cast<double>(TrueTime(rows, speed).count());
      off += std::abs(static_cast<double>(model_.Expected(rows).count()) -
                      expected) /
             expected / kMaxRows;
    }
    EXPECT_LT(off, 0.05) << "at " << speed;
  }
  EXPECT_EQ(model_.drift_count(), 3u);
}

TEST_F(ServiceTimeModelTest, BoundAfterADriftIsThatOfTheNewSpeed) {
  for (const double speed : {0.1, 0.2, 5.0}) {
    model_ = ServiceTimeModel(kMaxRows);
    LearnMany(500, 0.02);
    for (int i = 0; i < 5; ++i) {
      Learn(10, TrueTime(10, speed));
    }
    EXPECT_EQ(model_.drift_count(), 1u) << speed;
    EXPECT_LT(model_.Bound(10), 1.4 * TrueTime(10, speed)) << speed;
  }
}

TEST_F(ServiceTimeModelTest, SizeThatTookNoTimeIsLearnedAnew) {
  for (int i = 0; i < 20; ++i) {
    Learn(1, Duration(0));
  }
  for (int i = 0; i < 100; ++i) {
    Learn(1, Milliseconds(5));
  }
  EXPECT_GT(model_.Expected(1), Milliseconds(4.9));
}

TEST_F(ServiceTimeModelTest, DriftToNoTimeAtAllIsLearnedFrom) {
  LearnMany(1200, 0.02);
  for (int i = 0; i < 100; ++i) {
    Learn(10, Duration(0));
  }
  LearnMany(6000, 0.02);
  for (const int32_t rows : {1, 10, kMaxRows}) {
    EXPECT_NEAR(static_cast<double>(model_.Expected(rows).count()),
                static_cast<double>(TrueTime(rows).count()), 0.1 * kAlphaNs)
        << rows;
  }
}

TEST_F(ServiceTimeModelTest, TimesThatStayOffAreLearnedThoughTheyNeverAgree) {
  LearnMany(2000, 0.02);
  for (int i = 0; i < 200; ++i) {
    Learn(10, TrueTime(10, i % 2 == 0 ? 3 : 9));
  }
  EXPECT_EQ(model_.drift_count(), 0u);
  EXPECT_GT(model_.Expected(10), 4 * TrueTime(10));
  EXPECT_LT(model_.Expected(10), 8 * TrueTime(10));
}

// Sizes that a load reaches for the first time, where s(b) is no line.
TEST_F(ServiceTimeModelTest, NewSizesOffTheLineCostNoKnownSizeItsTime) {
  std::uniform_real_distribution<double> factor(0.98, 1.02);
  for (int i = 0; i < 100; ++i) {
    Learn(1, Duration(static_cast<int64_t>(1e6 * factor(random_))));
    Learn(2, Duration(static_cast<int64_t>(1e6 * factor(random_))));
  }
  for (int i = 0; i < 100; ++i) {
    Learn(kMaxRows, Milliseconds(9));
  }
  EXPECT_TRUE(model_.IsKnown(1));
  EXPECT_NEAR(static_cast<double>(model_.Expected(1).count()), 1e6, 3e4);
  EXPECT_EQ(model_.Expected(kMaxRows), Milliseconds(9));
}

// Short batches on a machine with too few cores for its threads are like that:
// what does not run meanwhile is not multiplied by each step again and again.
TEST_F(ServiceTimeModelTest, SpeedThatIsNeverSteadyMovesNoOtherSizeFarOff) {
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    model_ = ServiceTimeModel(kMaxRows);
    random_.seed(seed);
    LearnMany(1200, 0.02);
    std::lognormal_distribution<double> speed(0, 1);
    for (int step = 0; step < 3000; ++step) {
      const double now = speed(random_);
      for (int i = 0; i < 7; ++i) {
        Learn(kMaxRows, TrueTime(kMaxRows, now));
      }
    }
    EXPECT_GT(model_.drift_count(), 20u);
    for (const int32_t rows : {1, 10, 40}) {
      EXPECT_LT(model_.Expected(rows), 100 * TrueTime(kMaxRows)) << rows;
    }
    LearnMany(3000, 0.02);
    for (const int32_t rows : {1, 10, 40, kMaxRows}) {
      const auto expected = static_cast<double>(TrueTime(rows).count());
      EXPECT_NEAR(static_cast<double>(model_.Expected(rows).count()), expected,
                  0.1 * expected)
          << rows;
    }
  }
}

TEST_F(ServiceTimeModelTest, OneOutlierIsNoDrift) {
  LearnMany(500, 0.02);
  Learn(10, TrueTime(10, 20));
  LearnMany(20, 0.02);
  EXPECT_EQ(model_.drift_count(), 0u);
}

TEST_F(ServiceTimeModelTest, StallOverSeveralInstancesIsNoDrift) {
  LearnMany(500, 0.02);
  for (int instance = 0; instance < 4; ++instance) {
    Learn(10, TrueTime(10, 100));
  }
  LearnMany(5, 0.02);
  EXPECT_EQ(model_.drift_count(), 0u);
  EXPECT_LT(model_.Bound(10), 2 * TrueTime(10));
}

TEST_F(ServiceTimeModelTest, OutliersThatDoNotAgreeAreNoDrift) {
  LearnMany(500, 0.02);
  for (int i = 0; i < 20; ++i) {
    Learn(10, TrueTime(10, i % 2 == 0 ? 10 : 100));
  }
  EXPECT_EQ(model_.drift_count(), 0u);
}

// A warm-up that built kernels does so, before load that fills no batch.
TEST_F(ServiceTimeModelTest, SlowStartOfASizeThatRunsNoMoreIsForgotten) {
  for (int i = 0; i < 3; ++i) {
    Learn(kMaxRows, TrueTime(kMaxRows, 10));
  }
  for (int i = 0; i < 4000; ++i) {
    Learn(1 + i % 30, TrueTime(1 + i % 30));
  }
  const auto expected = static_cast<double>(TrueTime(kMaxRows).count());
  EXPECT_NEAR(static_cast<double>(model_.Expected(kMaxRows).count()), expected,
              0.2 * expected);
}

TEST_F(ServiceTimeModelTest, SlowFirstBatchesAreForgottenSoon) {
  Learn(10, TrueTime(10, 10));
  for (int i = 0; i < 60; ++i) {
    Learn(10, TrueTime(10));
  }
  EXPECT_LT(model_.Bound(10), 2 * TrueTime(10));
}

TEST_F(ServiceTimeModelTest, OneSlowBatchEarlyIsNoReasonToExpectSlowOnes) {
  for (int before = 10; before < 30; ++before) {
    model_ = ServiceTimeModel(kMaxRows);
    LearnMany(before, 0.05);
    Learn(10, TrueTime(10, 100));
    LearnMany(2, 0.05);
    EXPECT_LT(model_.Bound(32), 2 * TrueTime(32)) << before;
  }
}

}  // namespace
}  // namespace ferry
