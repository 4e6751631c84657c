// Tests every type, at its ends and between two of its values.
#include "bench/client/element_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace ferry::bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

uint16_t Half(DataType type, double value) {
  std::string out;
  EXPECT_TRUE(AppendElement(type, value, out)) << value;
  uint16_t bits = 0;
  EXPECT_EQ(out.size(), sizeof(bits));
  std::memcpy(&bits, out.data(), sizeof(bits));
  return bits;
}

template <typename Value>
bool Holds(DataType type, Value value) {
  std::string out;
  const bool holds = AppendElement(type, value, out);
  EXPECT_EQ(out.empty(), !holds);
  return holds;
}

// Bit patterns from IEEE 754-2008, section 3.4.
TEST(ElementBitsTest, Fp16IsRoundedToNearestEven) {
  EXPECT_EQ(Half(DataType::kFp16, 1), 0x3c00);
  EXPECT_EQ(Half(DataType::kFp16, -2), 0xc000);
  EXPECT_EQ(Half(DataType::kFp16, 65504), 0x7bff);
  EXPECT_EQ(Half(DataType::kFp16, 65519), 0x7bff);
  EXPECT_FALSE(Holds(DataType::kFp16, 65520.0));
  EXPECT_EQ(Half(DataType::kFp16, 1 + 0x1p-11), 0x3c00);  // a tie, to even
  EXPECT_EQ(Half(DataType::kFp16, 1 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(Half(DataType::kFp16, 1 + 0x1.1p-11), 0x3c01);
  EXPECT_EQ(Half(DataType::kFp16, 0x1p-14), 0x0400);  // the least normal one
  EXPECT_EQ(Half(DataType::kFp16, 0x1p-24), 0x0001);
  EXPECT_EQ(Half(DataType::kFp16, 0x1p-25), 0x0000);
  EXPECT_EQ(Half(DataType::kFp16, 0x1.ffep-15), 0x0400);  // up to a normal one
  EXPECT_EQ(Half(DataType::kFp16, -0.0), 0x8000);
  EXPECT_EQ(Half(DataType::kFp16, 2 - 0x1p-12), 0x4000);  // to the next power
  EXPECT_EQ(Half(DataType::kFp16, kInfinity), 0x7c00);
  EXPECT_EQ(Half(DataType::kFp16, std::nan("")) & 0x7c00, 0x7c00);
  EXPECT_NE(Half(DataType::kFp16, std::nan("")) & 0x03ff, 0);
}

TEST(ElementBitsTest, Bf16IsTheUpperHalfOfFp32Rounded) {
  EXPECT_EQ(Half(DataType::kBf16, 1), 0x3f80);
  EXPECT_EQ(Half(DataType::kBf16, -3.140625), 0xc049);
  EXPECT_EQ(Half(DataType::kBf16, 1 + 0x1p-8), 0x3f80);  // a tie, to even
  EXPECT_EQ(Half(DataType::kBf16, 1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(Half(DataType::kBf16, 0x1p-126), 0x0080);
  EXPECT_EQ(Half(DataType::kBf16, 0x1p-133), 0x0001);
  EXPECT_EQ(Half(DataType::kBf16, 0x1.fep127), 0x7f7f);
  EXPECT_FALSE(Holds(DataType::kBf16, 0x1.ffp127));
}

TEST(ElementBitsTest, IntegersHaveTheirRangesAndNoFractions) {
  EXPECT_TRUE(Holds(DataType::kInt8, int64_t{-128}));
  EXPECT_FALSE(Holds(DataType::kInt8, int64_t{-129}));
  EXPECT_TRUE(Holds(DataType::kUint8, uint64_t{255}));
  EXPECT_FALSE(Holds(DataType::kUint8, int64_t{-1}));
  EXPECT_TRUE(Holds(DataType::kUint64, ~uint64_t{0}));
  EXPECT_FALSE(Holds(DataType::kInt64, uint64_t{1} << 63));
  EXPECT_TRUE(Holds(DataType::kInt32, 1e3));
  EXPECT_FALSE(Holds(DataType::kInt32, 0.5));
  EXPECT_FALSE(Holds(DataType::kInt64, 0x1p63));
  EXPECT_FALSE(Holds(DataType::kInt32, kInfinity));
  EXPECT_TRUE(Holds(DataType::kBool, int64_t{1}));
  EXPECT_FALSE(Holds(DataType::kBool, int64_t{2}));
}

TEST(ElementBitsTest, FloatsTakeIntegersAndRefuseWhatIsTooLarge) {
  std::string out;
  ASSERT_TRUE(AppendElement(DataType::kFp32, int64_t{-3}, out));
  float value = 0;
  std::memcpy(&value, out.data(), sizeof(value));
  EXPECT_EQ(value, -3);
  EXPECT_FALSE(Holds(DataType::kFp32, 1e39));
  EXPECT_TRUE(Holds(DataType::kFp64, 1e300));
}

}  // namespace
}  // namespace ferry::bench
