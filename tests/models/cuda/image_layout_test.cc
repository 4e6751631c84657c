// ImageLayout: each element has one place in either layout, and comes back.
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

}  // namespace
}  // namespace ferry
