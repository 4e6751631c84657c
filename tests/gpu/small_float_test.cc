// Tests SmallFloat: each value of 16 bits, and what lies between two.
#include "tests/gpu/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ferry {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class SmallFloatTest : public ::testing::TestWithParam<SmallFloat> {};

TEST_P(SmallFloatTest, EachValueIsItsOwnNearest) {
  const SmallFloat form = GetParam();
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto each = static_cast<uint16_t>(bits);
    const float value = ValueOf(form, each);
    if (form.IsNan(each)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(form.IsNan(Nearest(form, value))) << bits;
    } else {
      ASSERT_EQ(Nearest(form, value), each) << value;
    }
  }
}

TEST_P(SmallFloatTest, MiddleGoesToTheEvenOneAndTheRestToTheNearer) {
  const SmallFloat form = GetParam();
  for (uint16_t bits = 0; bits + 1 < form.infinity(); ++bits) {
    const auto next = static_cast<uint16_t>(bits + 1);
    const double low = ValueOf(form, bits);
    const double high = ValueOf(form, next);
    ASSERT_LT(low, high) << bits;
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2) << "exact";
    ASSERT_EQ(Nearest(form, middle), bits % 2 == 0 ? bits : next) << bits;
    ASSERT_EQ(Nearest(form, std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(Nearest(form, std::nextafter(middle, kInfinity)), next);
    ASSERT_EQ(Nearest(form, -middle), Nearest(form, middle) | 0x8000);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, SmallFloatTest,
                         ::testing::Values(kFp16, kBf16));

TEST(SmallFloat, ValuesOfFp16) {
  EXPECT_EQ(ValueOf(kFp16, 0x3c00), 1.0f);
  EXPECT_EQ(ValueOf(kFp16, 0xc000), -2.0f);
  EXPECT_EQ(ValueOf(kFp16, 0x7bff), 65504.0f);
  EXPECT_EQ(ValueOf(kFp16, 0x0400), 0x1p-14f);
  EXPECT_EQ(ValueOf(kFp16, 0x0001), 0x1p-24f);
  EXPECT_EQ(ValueOf(kFp16, 0x7c00), kInfinity);
  EXPECT_EQ(Nearest(kFp16, 65519.0f), 0x7bff);
  EXPECT_EQ(Nearest(kFp16, 65520.0f), 0x7c00);
  EXPECT_EQ(Nearest(kFp16, -1e30f), 0xfc00);
  EXPECT_EQ(Nearest(kFp16, 0x1p-25f), 0) << "a tie with 0";
  EXPECT_EQ(Nearest(kFp16, -0.0f), 0x8000);
}

TEST(SmallFloat, ValuesOfBf16) {
  EXPECT_EQ(ValueOf(kBf16, 0x3f80), 1.0f);
  EXPECT_EQ(ValueOf(kBf16, 0xc049), -3.140625f);
  EXPECT_EQ(ValueOf(kBf16, 0x0001), 0x1p-133f);
  EXPECT_EQ(Nearest(kBf16, std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(Nearest(kBf16, 3.14159274f), 0x4049);
}

}  // namespace
}  // namespace ferry
