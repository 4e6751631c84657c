// Tests CastImages on a device against a loop on the host: each pair of layouts
// and types, sizes that fill no pack.
#include "models/cuda/cast_images.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tests/gpu/device_memory.h"
#include "tests/gpu/small_float.h"

namespace ferry {
namespace {

constexpr int64_t kImages = 2;

// An element of that type that is the nearest to the value.
template <typename Bits>
Bits BitsOf(DataType type, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case DataType::kFp16:
      return static_cast<Bits>(Nearest(kFp16, narrow));
    case DataType::kBf16:
      return static_cast<Bits>(Nearest(kBf16, narrow));
    case DataType::kFp32:
      return static_cast<Bits>(std::bit_cast<uint32_t>(narrow));
    default:
      return static_cast<Bits>(std::bit_cast<uint64_t>(value));
  }
}

// What such an element is worth.
double ElementValue(DataType type, uint64_t bits) {
  switch (type) {
    case DataType::kFp16:
      return ValueOf(kFp16, static_cast<uint16_t>(bits));
    case DataType::kBf16:
      return ValueOf(kBf16, static_cast<uint16_t>(bits));
    case DataType::kFp32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

// Gives both signs and some powers of two, none twice in a row.
double Drawn(int64_t index) {
  const double value = 1 + static_cast<double>(index * 37 % 4099) / 4099;
  return std::ldexp(index % 2 == 0 ? value : -value,
                    static_cast<int>(index % 29) - 14);
}

template <typename From, typename To>
std::vector<To> Cast(const std::vector<From>& values, DataType from_type,
                     const ImageLayout& from_layout, DataType to_type,
                     const ImageLayout& to_layout) {
  const DeviceMemory<From> from(values);
  const DeviceMemory<To> to(values.size());
  EXPECT_EQ(CastImages({from.data(), from_type}, from_layout,
                       {to.data(), to_type}, to_layout, kImages, nullptr),
            cudaSuccess);
  return to.Read();
}

template <typename From, typename To>
void ExpectCast(DataType from_type, const ImageLayout& from_layout,
                DataType to_type, const ImageLayout& to_layout) {
  std::vector<From> values;
  for (int64_t i = 0; i < kImages * from_layout.image_elements(); ++i) {
    values.push_back(BitsOf<From>(from_type, Drawn(i)));
  }
  const std::vector<To> found =
      Cast<From, To>(values, from_type, from_layout, to_type, to_layout);
  for (size_t i = 0; i < values.size(); ++i) {
    const ImagePlace at = from_layout.PlaceOf(static_cast<int64_t>(i));
    ASSERT_EQ(found[static_cast<size_t>(to_layout.IndexOf(at))],
              BitsOf<To>(to_type, ElementValue(from_type, values[i])))
        << "at " << i;
  }
}

template <typename From>
void ExpectCastTo(DataType from_type, const ImageLayout& from_layout,
                  DataType to_type, const ImageLayout& to_layout) {
  if (to_type == DataType::kFp32) {
    ExpectCast<From, uint32_t>(from_type, from_layout, to_type, to_layout);
  } else {
    ExpectCast<From, uint16_t>(from_type, from_layout, to_type, to_layout);
  }
}

using Parameters = std::tuple<ChannelPlace, ChannelPlace, int32_t, int64_t>;

class CastImagesTest : public DeviceTest,
                       public ::testing::WithParamInterface<Parameters> {};

TEST_P(CastImagesTest, EachElementIsCastAndStandsWhereTheModelReadsIt) {
  const auto [wire, model, channels, pixels] = GetParam();
  const ImageLayout from = {channels, pixels, wire};
  const ImageLayout to = {channels, pixels, model};
  for (const DataType type :
       {DataType::kFp16, DataType::kBf16, DataType::kFp32}) {
    SCOPED_TRACE(DataTypeName(type));
    ExpectCastTo<uint16_t>(DataType::kFp16, from, type, to);
    ExpectCastTo<uint16_t>(DataType::kBf16, from, type, to);
    ExpectCastTo<uint32_t>(DataType::kFp32, from, type, to);
    ExpectCastTo<uint64_t>(DataType::kFp64, from, type, to);
  }
}

// The last: many blocks, and more than one pack a thread.
INSTANTIATE_TEST_SUITE_P(
    Layouts, CastImagesTest,
    ::testing::Combine(
        ::testing::Values(ChannelPlace::kFirst, ChannelPlace::kLast),
        ::testing::Values(ChannelPlace::kFirst, ChannelPlace::kLast),
        ::testing::Values(1, 3, 70), ::testing::Values(1, 5, 224 * 224)));

using CastImagesErrorsTest = DeviceTest;

TEST_F(CastImagesErrorsTest, LayoutsThatDifferAndTypesAreRefused) {
  const DeviceMemory<float> from(12);
  const DeviceMemory<float> to(12);
  const ImageLayout four = {3, 4, ChannelPlace::kFirst};
  const ImageLayout five = {3, 5, ChannelPlace::kFirst};
  const auto run = [&](DataType from_type, DataType to_type,
                       const ImageLayout& into) {
    return CastImages({from.data(), from_type}, four, {to.data(), to_type},
                      into, 1, nullptr);
  };
  EXPECT_EQ(run(DataType::kFp32, DataType::kFp32, four), cudaSuccess);
  EXPECT_EQ(run(DataType::kFp32, DataType::kFp32, five), cudaErrorInvalidValue);
  EXPECT_EQ(run(DataType::kFp32, DataType::kFp64, four), cudaErrorInvalidValue);
  EXPECT_EQ(run(DataType::kInt32, DataType::kFp32, four),
            cudaErrorInvalidValue);
}

TEST_F(CastImagesErrorsTest, NothingIsNoError) {
  const ImageLayout layout = {3, 4, ChannelPlace::kFirst};
  EXPECT_EQ(CastImages({nullptr, DataType::kFp32}, layout,
                       {nullptr, DataType::kBf16}, layout, 0, nullptr),
            cudaSuccess);
}

}  // namespace
}  // namespace ferry
