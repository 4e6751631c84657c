// Tests CastElements of integers, on a device, against casts on the host; and
// what it refuses. Among floats: cast_floats_test.cc.
#include "models/cuda/cast_elements.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "tests/gpu/device_memory.h"
#include "tests/gpu/small_float.h"

namespace ferry {
namespace {

using CastElementsTest = DeviceTest;

// 0 and its neighbours, both ends, and past where each float is exact.
template <typename T>
std::vector<T> Integers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0, 1, 2, 3, 100, Limits::min(), Limits::max()};
  values.push_back(static_cast<T>(Limits::max() / 3));
  for (int place = 0; place < Limits::digits; ++place) {
    const T power = static_cast<T>(T{1} << place);
    values.push_back(power);
    values.push_back(static_cast<T>(power - 1));
    values.push_back(static_cast<T>(power | 1));
  }
  return values;
}

template <typename T>
class CastIntegers : public DeviceTest {
 protected:
  // Casts them to a type of so many bits and returns what is there then.
  template <typename Bits>
  std::vector<Bits> Cast(const std::vector<T>& values, DataType type);
};

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

template <typename T>
template <typename Bits>
std::vector<Bits> CastIntegers<T>::Cast(const std::vector<T>& values,
                                        DataType type) {
  const DeviceMemory<T> from(values);
  const DeviceMemory<Bits> to(values.size());
  EXPECT_EQ(CastElements({from.data(), TypeOf<T>()}, {to.data(), type},
                         static_cast<int64_t>(values.size()), nullptr),
            cudaSuccess);
  return to.Read();
}

using IntegerTypes = ::testing::Types<uint8_t, int8_t, uint16_t, int16_t,
                                      uint32_t, int32_t, uint64_t, int64_t>;
TYPED_TEST_SUITE(CastIntegers, IntegerTypes);

TYPED_TEST(CastIntegers, BecomeTheNearestFp32) {
  const auto values = Integers<TypeParam>();
  const auto cast = this->template Cast<float>(values, DataType::kFp32);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(cast[i], static_cast<float>(values[i])) << +values[i];
  }
}

TYPED_TEST(CastIntegers, BecomeTheNearestFp64) {
  const auto values = Integers<TypeParam>();
  const auto cast = this->template Cast<double>(values, DataType::kFp64);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(cast[i], static_cast<double>(values[i])) << +values[i];
  }
}

// Also where FP32 rounds first, and where FP16 has no more numbers.
TYPED_TEST(CastIntegers, BecomeFloatsOf16BitsByWayOfFp32) {
  const auto values = Integers<TypeParam>();
  const auto fp16 = this->template Cast<uint16_t>(values, DataType::kFp16);
  const auto bf16 = this->template Cast<uint16_t>(values, DataType::kBf16);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    EXPECT_EQ(fp16[i], Nearest(kFp16, value)) << +values[i];
    EXPECT_EQ(bf16[i], Nearest(kBf16, value)) << +values[i];
  }
}

TEST_F(CastElementsTest, TruthIsOne) {
  const DeviceMemory<uint8_t> from({0, 1});
  const DeviceMemory<uint16_t> to(2);
  ASSERT_EQ(CastElements({from.data(), DataType::kBool},
                         {to.data(), DataType::kFp16}, 2, nullptr),
            cudaSuccess);
  EXPECT_EQ(to.Read(), (std::vector<uint16_t>{0, 0x3c00}));
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
