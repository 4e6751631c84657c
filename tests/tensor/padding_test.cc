// Tests chunks, the zeros behind them, and the masks that are made.
#include "tensor/padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace ferry {
namespace {

using ::testing::ElementsAre;

ByteSegment SegmentOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TEST(PaddingTest, DimensionThatVariesIsFound) {
  EXPECT_EQ(VaryingDim({}), std::nullopt);
  EXPECT_EQ(VaryingDim({3, 4}), std::nullopt);
  EXPECT_EQ(VaryingDim({3, kAnySize, 4}), 1u);
}

TEST(PaddingTest, ChunksAreCountedByWhatIsBefore) {
  const RowChunks first = ChunksOf({7, 3, 2}, 0);
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(first.inner, 6);
  const RowChunks middle = ChunksOf({5, 7, 2}, 1);
  EXPECT_EQ(middle.count, 5);
  EXPECT_EQ(middle.inner, 2);
  const RowChunks only = ChunksOf({kAnySize}, 0);
  EXPECT_EQ(only.count, 1);
  EXPECT_EQ(only.inner, 1);
}

TEST(PaddingTest, ZerosFollowEachChunkOfRunsCutAnywhere) {
  const std::string text = "abcdef";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string head = text.substr(0, cut);
    const std::string tail = text.substr(cut);
    const std::array<ferry::ByteSegment, 2> segments = {SegmentOf(head),
                                                        SegmentOf(tail)};
    std::string to(11, '?');
    auto* const begin = reinterpret_cast<std::byte*>(to.data());
    EXPECT_EQ(CopyPadded(segments, 3, 5, begin), begin + 10);
    EXPECT_EQ(to, std::string("abc\0\0def\0\0?", 11)) << "cut at " << cut;
  }
}

// ids [-1] to 4 or 8, types [-1] and a mask [-1] of their size.
ModelSpec Spec(DataType mask_type = DataType::kInt64) {
  ModelSpec spec;
  spec.inputs = {{"mask", mask_type, {kAnySize}},
                 {"ids", DataType::kInt8, {kAnySize}},
                 {"types", DataType::kInt8, {kAnySize}},
                 {"scale", DataType::kFp32, {1}}};
  for (size_t i = 0; i < 3; ++i) {
    spec.inputs[i].pads = {4, 8};
  }
  spec.inputs[0].follows = 1;
  spec.inputs[0].is_mask = true;
  spec.inputs[0].is_optional = true;
  spec.inputs[2].follows = 1;
  spec.max_batch_size = 4;
  return spec;
}

class PaddedInputsTest : public ::testing::Test {
 protected:
  // `size` of ids and types, of two rows; the mask is left out.
  std::vector<TensorView> Views(int64_t size) {
    size_ = {size};
    return {{.dims = {}, .segments = {}, .is_given = false},
            {.dims = size_, .segments = {&segment_, 1}},
            {.dims = size_, .segments = {&segment_, 1}},
            {.dims = one_, .segments = {&segment_, 1}}};
  }

  const std::string bytes_ = "some";
  const ferry::ByteSegment segment_ = SegmentOf(bytes_);
  const std::array<int64_t, 1> one_ = {1};
  std::array<int64_t, 1> size_ = {0};
  PaddedInputs padded_;
};

TEST_F(PaddedInputsTest, SizesAreRoundedUp) {
  const ModelSpec spec = Spec();
  const std::pair<int64_t, int64_t> sizes[] = {{1, 4}, {4, 4}, {5, 8},
                                               {8, 8}, {9, 9}, {100, 100}};
  for (const auto& [size, expected] : sizes) {
    std::vector<TensorView> views = Views(size);
    EXPECT_EQ(padded_.Apply(spec, 2, absl::MakeSpan(views)), std::nullopt);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_THAT(views[i].dims, ElementsAre(size));
      EXPECT_THAT(views[i].batch_dims(), ElementsAre(expected)) << i;
    }
    EXPECT_THAT(views[3].batch_dims(), ElementsAre(1));
  }
}

template <typename Element>
void ExpectOnes(DataType type, Element one) {
  const ModelSpec spec = Spec(type);
  const std::array<int64_t, 1> dims = {3};
  std::vector<TensorView> views(4, {.dims = dims, .segments = {}});
  views[0] = {.dims = {}, .segments = {}, .is_given = false};
  PaddedInputs padded;
  ASSERT_EQ(padded.Apply(spec, 2, absl::MakeSpan(views)), std::nullopt);
  ASSERT_TRUE(views[0].is_given);
  ASSERT_EQ(views[0].segments.size(), 1u);
  ASSERT_EQ(views[0].segments[0].size, 6 * sizeof(Element));
  std::vector<Element> ones(6);
  std::memcpy(ones.data(), views[0].segments[0].data, 6 * sizeof(Element));
  EXPECT_EQ(ones, std::vector<Element>(6, one)) << DataTypeName(type);
}

TEST(PaddedInputsMaskTest, MaskThatIsLeftOutIsOnesOfItsType) {
  ExpectOnes<int64_t>(DataType::kInt64, 1);
  ExpectOnes<int32_t>(DataType::kInt32, 1);
  ExpectOnes<uint8_t>(DataType::kBool, 1);
  ExpectOnes<uint16_t>(DataType::kUint16, 1);
  ExpectOnes<float>(DataType::kFp32, 1);
  ExpectOnes<double>(DataType::kFp64, 1);
  ExpectOnes<uint16_t>(DataType::kFp16, 0x3C00);
  ExpectOnes<uint16_t>(DataType::kBf16, 0x3F80);
}

TEST_F(PaddedInputsTest, MaskThatIsGivenIsKept) {
  const ModelSpec spec = Spec();
  std::vector<TensorView> views = Views(3);
  views[0] = views[1];
  EXPECT_EQ(padded_.Apply(spec, 2, absl::MakeSpan(views)), std::nullopt);
  EXPECT_EQ(views[0].segments.data(), &segment_);
  EXPECT_THAT(views[0].batch_dims(), ElementsAre(4));
}

TEST_F(PaddedInputsTest, OtherSizeThanThatOfTheFollowedIsFound) {
  const ModelSpec spec = Spec();
  std::vector<TensorView> views = Views(3);
  views[2].dims = one_;  // both would be padded to 4
  EXPECT_EQ(padded_.Apply(spec, 2, absl::MakeSpan(views)), 2u);
  views = Views(3);
  views[0] = {.dims = one_, .segments = {&segment_, 1}};
  EXPECT_EQ(padded_.Apply(spec, 2, absl::MakeSpan(views)), 0u);
}

TEST_F(PaddedInputsTest, LargeMaskIsOfOnesThatAllShare) {
  const ModelSpec spec = Spec();
  std::vector<TensorView> views = Views(100'000);
  EXPECT_EQ(padded_.Apply(spec, 2, absl::MakeSpan(views)), std::nullopt);
  PaddedInputs others;
  std::vector<TensorView> other_views = Views(8);
  others.Apply(spec, 1, absl::MakeSpan(other_views));
  const std::byte* const ones = other_views[0].segments[0].data;
  size_t bytes = 0;
  for (const ferry::ByteSegment& segment : views[0].segments) {
    EXPECT_EQ(segment.data, ones);
    bytes += segment.size;
  }
  EXPECT_GT(views[0].segments.size(), 1u);
  EXPECT_EQ(bytes, 2 * 100'000 * sizeof(int64_t));
  EXPECT_EQ(std::to_integer<int>(ones[views[0].segments[0].size - 8]), 1);
}

}  // namespace
}  // namespace ferry
