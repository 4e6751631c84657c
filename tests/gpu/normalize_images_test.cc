// Tests NormalizeImages on a device against a loop on the host: each pair of
// layouts and type, sizes that fill no pack.
#include "models/cuda/normalize_images.h"

#include <bit>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tests/gpu/device_memory.h"
#include "tests/gpu/small_float.h"

namespace ferry {
namespace {

constexpr int32_t kChannels = 3;
constexpr int64_t kImages = 2;

ChannelScales Scales() {
  ChannelScales scales;
  for (int32_t channel = 0; channel < kChannels; ++channel) {
    const auto each = static_cast<float>(channel + 1);
    scales.scale[channel] = 0.01f * each;
    scales.shift[channel] = -0.5f * each;
  }
  return scales;
}

std::vector<uint8_t> Bytes(int64_t count) {
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<uint8_t>(i * 37 + i / 256));
  }
  return bytes;
}

// Returns the bits of an element of that type.
uint32_t BitsOf(DataType type, float value) {
  switch (type) {
    case DataType::kFp16:
      return Nearest(kFp16, value);
    case DataType::kBf16:
      return Nearest(kBf16, value);
    default:
      return std::bit_cast<uint32_t>(value);
  }
}

// Runs it into elements of so many bits and returns them.
template <typename Bits>
std::vector<uint32_t> Normalized(const std::vector<uint8_t>& bytes,
                                 const ImageLayout& from_layout, DataType type,
                                 const ImageLayout& to_layout) {
  const DeviceMemory<uint8_t> from(bytes);
  const DeviceMemory<Bits> to(bytes.size());
  EXPECT_EQ(
      NormalizeImages(static_cast<const uint8_t*>(from.data()), from_layout,
                      {to.data(), type}, to_layout, kImages, Scales(), nullptr),
      cudaSuccess);
  const std::vector<Bits> read = to.Read();
  return {read.begin(), read.end()};
}

using Parameters = std::tuple<ChannelPlace, ChannelPlace, int64_t, DataType>;

class NormalizeImagesTest : public DeviceTest,
                            public ::testing::WithParamInterface<Parameters> {};

TEST_P(NormalizeImagesTest, EachPixelIsScaledAndStandsWhereTheModelReadsIt) {
  const auto [wire, model, pixels, type] = GetParam();
  const ImageLayout from_layout = {kChannels, pixels, wire};
  const ImageLayout to_layout = {kChannels, pixels, model};
  const int64_t count = kImages * kChannels * pixels;
  const std::vector<uint8_t> bytes = Bytes(count);
  const ChannelScales scales = Scales();
  const std::vector<uint32_t> found =
      type == DataType::kFp32
          ? Normalized<uint32_t>(bytes, from_layout, type, to_layout)
          : Normalized<uint16_t>(bytes, from_layout, type, to_layout);
  for (int64_t i = 0; i < count; ++i) {
    const ImagePlace at = from_layout.PlaceOf(i);
    const float scaled = static_cast<float>(bytes[static_cast<size_t>(i)]) *
                         scales.scale[at.channel];
    ASSERT_EQ(found[static_cast<size_t>(to_layout.IndexOf(at))],
              BitsOf(type, scaled + scales.shift[at.channel]))
        << "at " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, NormalizeImagesTest,
    ::testing::Combine(
        ::testing::Values(ChannelPlace::kFirst, ChannelPlace::kLast),
        ::testing::Values(ChannelPlace::kFirst, ChannelPlace::kLast),
        ::testing::Values(1, 5, 224 * 224),
        ::testing::Values(DataType::kFp32, DataType::kFp16, DataType::kBf16)));

using NormalizeImagesErrorsTest = DeviceTest;

TEST_F(NormalizeImagesErrorsTest, LayoutsThatDifferAndTypesAreRefused) {
  const DeviceMemory<float> to(12);
  const ImageLayout four = {3, 4, ChannelPlace::kFirst};
  const ImageLayout five = {3, 5, ChannelPlace::kFirst};
  const ImageLayout many = {65, 4, ChannelPlace::kFirst};
  const auto run = [&](const ImageLayout& from, const ImageLayout& into,
                       DataType type) {
    return NormalizeImages(nullptr, from, {to.data(), type}, into, 1, Scales(),
                           nullptr);
  };
  EXPECT_EQ(run(four, five, DataType::kFp32), cudaErrorInvalidValue);
  EXPECT_EQ(run(many, many, DataType::kFp32), cudaErrorInvalidValue);
  EXPECT_EQ(run(four, four, DataType::kInt32), cudaErrorInvalidValue);
  EXPECT_EQ(run(four, four, DataType::kFp64), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace ferry
