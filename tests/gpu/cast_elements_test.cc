// CastElements on a device, against a reference on the host.
#include "models/cuda/cast_elements.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/gpu/device_memory.h"

namespace ferry {
namespace {

// Ties to even, by the bits.
uint16_t NearestBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t low = bits & 0xffff;
  const uint32_t high = bits >> 16;
  const bool is_up = low > 0x8000 || (low == 0x8000 && (high & 1) == 1);
  return static_cast<uint16_t>(high + (is_up ? 1 : 0));
}

std::vector<float> Floats(size_t count) {
  std::mt19937_64 random(1);
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               1.00390625f,
                               1.01171875f,
                               std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::max()};
  std::normal_distribution<float> normal(0, 100);
  while (values.size() < count) {
    values.push_back(normal(random));
  }
  values.resize(count);
  return values;
}

using CastElementsTest = DeviceTest;

TEST_F(CastElementsTest, FloatsBecomeTheNearestBf16AtEachLength) {
  for (const size_t count : {1u, 7u, 8u, 9u, 1024u, 1000003u}) {
    const std::vector<float> values = Floats(count);
    const DeviceMemory<float> from(values);
    const DeviceMemory<uint16_t> to(count);
    ASSERT_EQ(CastElements({from.data(), DataType::kFp32},
                           {to.data(), DataType::kBf16},
                           static_cast<int64_t>(count), nullptr),
              cudaSuccess);
    const std::vector<uint16_t> cast = to.Read();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(cast[i], NearestBf16(values[i])) << values[i] << " at " << i;
    }
  }
}

TEST_F(CastElementsTest, NanStaysNan) {
  const DeviceMemory<float> from({std::nanf(""), -std::nanf("")});
  const DeviceMemory<uint16_t> to(2);
  ASSERT_EQ(CastElements({from.data(), DataType::kFp32},
                         {to.data(), DataType::kBf16}, 2, nullptr),
            cudaSuccess);
  for (const uint16_t bits : to.Read()) {
    EXPECT_GT(bits & 0x7fff, 0x7f80);
  }
}

TEST_F(CastElementsTest, Bf16BecomesItsFloat) {
  std::vector<uint16_t> values;
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    values.push_back(static_cast<uint16_t>(bits));
  }
  const DeviceMemory<uint16_t> from(values);
  const DeviceMemory<float> to(values.size());
  ASSERT_EQ(
      CastElements({from.data(), DataType::kBf16}, {to.data(), DataType::kFp32},
                   static_cast<int64_t>(values.size()), nullptr),
      cudaSuccess);
  const std::vector<float> cast = to.Read();
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(cast[i]), uint32_t{values[i]} << 16);
  }
}

template <typename T>
class CastIntegers : public DeviceTest {};

template <typename T>
DataType TypeOf();
template <>
DataType TypeOf<uint8_t>() {
  return DataType::kUint8;
}
template <>
DataType TypeOf<int8_t>() {
  return DataType::kInt8;
}
template <>
DataType TypeOf<uint16_t>() {
  return DataType::kUint16;
}
template <>
DataType TypeOf<int16_t>() {
  return DataType::kInt16;
}
template <>
DataType TypeOf<uint32_t>() {
  return DataType::kUint32;
}
template <>
DataType TypeOf<int32_t>() {
  return DataType::kInt32;
}
template <>
DataType TypeOf<uint64_t>() {
  return DataType::kUint64;
}
template <>
DataType TypeOf<int64_t>() {
  return DataType::kInt64;
}

using Integers = ::testing::Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t,
                                  int32_t, uint64_t, int64_t>;
TYPED_TEST_SUITE(CastIntegers, Integers);

TYPED_TEST(CastIntegers, BecomeTheNearestFloat) {
  const std::vector<TypeParam> values = {
      0,
      1,
      100,
      std::numeric_limits<TypeParam>::min(),
      std::numeric_limits<TypeParam>::max(),
      static_cast<TypeParam>(std::numeric_limits<TypeParam>::max() / 3),
      2,
      3,
      4};
  const DeviceMemory<TypeParam> from(values);
  const DeviceMemory<float> to(values.size());
  ASSERT_EQ(CastElements({from.data(), TypeOf<TypeParam>()},
                         {to.data(), DataType::kFp32},
                         static_cast<int64_t>(values.size()), nullptr),
            cudaSuccess);
  const std::vector<float> cast = to.Read();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(cast[i], static_cast<float>(values[i]));
  }
}

TEST_F(CastElementsTest, WhatHasNoCastIsRefused) {
  const DeviceMemory<float> memory(8);
  EXPECT_EQ(CastElements({memory.data(), DataType::kFp32},
                         {memory.data(), DataType::kInt32}, 8, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(CastElements({memory.data(), DataType::kBytes},
                         {memory.data(), DataType::kFp32}, 8, nullptr),
            cudaErrorInvalidValue);
}

TEST_F(CastElementsTest, NothingIsNoError) {
  EXPECT_EQ(CastElements({nullptr, DataType::kFp32}, {nullptr, DataType::kBf16},
                         0, nullptr),
            cudaSuccess);
}

}  // namespace
}  // namespace ferry
