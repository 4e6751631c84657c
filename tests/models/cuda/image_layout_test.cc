// Tests that ImageLayout gives each element one place in either layout.
#include "models/cuda/image_layout.h"

#include <gtest/gtest.h>

#include <set>

namespace ferry {
namespace {

constexpr ImageLayout kFirst = {
    .channels = 3, .pixels = 4, .place = ChannelPlace::kFirst};
constexpr ImageLayout kLast = {
    .channels = 3, .pixels = 4, .place = ChannelPlace::kLast};

TEST(ImageLayout, ChannelsFirstHaveTheirPixelsTogether) {
  const ImagePlace at = kFirst.PlaceOf(12 + 4 + 2);  // image 1, channel 1
  EXPECT_EQ(at.image, 1);
  EXPECT_EQ(at.channel, 1);
  EXPECT_EQ(at.pixel, 2);
}

TEST(ImageLayout, ChannelsLastStandBesideEachOther) {
  const ImagePlace at = kLast.PlaceOf(12 + 3 * 2 + 1);
  EXPECT_EQ(at.image, 1);
  EXPECT_EQ(at.channel, 1);
  EXPECT_EQ(at.pixel, 2);
}

TEST(ImageLayout, EveryElementHasOnePlaceInEither) {
  std::set<int64_t> seen;
  for (int64_t index = 0; index < 2 * 12; ++index) {
    const int64_t there = kLast.IndexOf(kFirst.PlaceOf(index));
    EXPECT_EQ(kFirst.IndexOf(kLast.PlaceOf(there)), index);
    seen.insert(there);
  }
  EXPECT_EQ(seen.size(), 24u);
  EXPECT_EQ(*seen.rbegin(), 23);
}

TEST(ImageLayout, EachPlaceIsFollowedByThatOfTheNextIndex) {
  constexpr ImageLayout kOnePixel = {
      .channels = 3, .pixels = 1, .place = ChannelPlace::kFirst};
  constexpr ImageLayout kOneChannel = {
      .channels = 1, .pixels = 3, .place = ChannelPlace::kLast};
  for (const ImageLayout& layout : {kFirst, kLast, kOnePixel, kOneChannel}) {
    ImagePlace at = layout.PlaceOf(0);
    for (int64_t index = 1; index < 3 * layout.image_elements(); ++index) {
      at = layout.After(at);
      const ImagePlace expected = layout.PlaceOf(index);
      EXPECT_EQ(at.image, expected.image) << index;
      EXPECT_EQ(at.channel, expected.channel) << index;
      EXPECT_EQ(at.pixel, expected.pixel) << index;
    }
  }
}

}  // namespace
}  // namespace ferry
