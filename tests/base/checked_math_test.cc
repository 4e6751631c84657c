// Tests that checked arithmetic fits or says so, at its edges.
#include "base/checked_math.h"

#include <gtest/gtest.h>

#include <limits>

namespace ferry {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(CheckedMath, MultiplyFitsOrSaysSo) {
  EXPECT_EQ(CheckedMultiply(6, 7), 42);
  EXPECT_EQ(CheckedMultiply(0, kMax), 0);
  EXPECT_EQ(CheckedMultiply(1, kMax), kMax);
  EXPECT_EQ(CheckedMultiply(2, kMax), std::nullopt);
  EXPECT_EQ(CheckedMultiply(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
}

TEST(CheckedMath, MultiplyRefusesNegativeFactors) {
  EXPECT_EQ(CheckedMultiply(-1, 1), std::nullopt);
  EXPECT_EQ(CheckedMultiply(-1, -1), std::nullopt);
  EXPECT_EQ(CheckedMultiply(0, -1), std::nullopt);
  EXPECT_EQ(CheckedMultiply(kMin, kMin), std::nullopt);
}

TEST(CheckedMath, AddFitsOrSaysSo) {
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMin, -1), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMax, kMin), -1);
}

TEST(CheckedMath, ElementCountOfShapes) {
  EXPECT_EQ(ElementCount({}), 1);
  EXPECT_EQ(ElementCount({2, 3, 4}), 24);
  EXPECT_EQ(ElementCount({2, 0, 4}), 0);
  EXPECT_EQ(ElementCount({-1}), std::nullopt);
  EXPECT_EQ(ElementCount({0, -1}), std::nullopt);
  EXPECT_EQ(ElementCount({int64_t{1} << 31, int64_t{1} << 31, 2}),
            std::nullopt);
}

}  // namespace
}  // namespace ferry
