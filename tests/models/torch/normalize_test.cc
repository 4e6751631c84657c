// Tests Normalizer against the formula in LibTorch's own operators.
#include "models/torch/normalize.h"

#include <ATen/ATen.h>

#include "gtest/gtest.h"

namespace ferry {
namespace {

// What the model should get of `images`, as on the wire, in fp32.
at::Tensor Reference(const at::Tensor& images, const Normalization& to_do) {
  at::Tensor x = images.to(at::kDouble);
  if (to_do.channels == ChannelPlace::kLast) {
    x = x.movedim(-1, 1);
  }
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[1] = -1;
  const at::Tensor mean = at::tensor(to_do.mean, at::kDouble).view(shape);
  const at::Tensor std = at::tensor(to_do.std, at::kDouble).view(shape);
  return (x / to_do.divisor - mean) / std;
}

at::Tensor Found(const at::Tensor& images, const Normalization& to_do,
                 at::ScalarType type) {
  const at::IntArrayRef dims = images.sizes().slice(1);
  at::Tensor found = at::empty(Reference(images, to_do).sizes(), type);
  Normalizer(to_do).Run(images.const_data_ptr<uint8_t>(), images.size(0),
                        {dims.data(), dims.size()}, {found.data_ptr(), type});
  return found;
}

const Normalization kImage = {.mean = {0.485, 0.456, 0.406},
                              .std = {0.229, 0.224, 0.225}};

TEST(Normalize, EveryByteOfEveryChannelInBothPlaces) {
  // Odd sizes, so that vectorized loops have rests; all bytes in each channel.
  const at::Tensor first =
      (at::arange(2 * 3 * 37 * 11) % 256).to(at::kByte).view({2, 3, 37, 11});
  for (ChannelPlace place : {ChannelPlace::kFirst, ChannelPlace::kLast}) {
    Normalization to_do = kImage;
    to_do.channels = place;
    const at::Tensor images = place == ChannelPlace::kFirst
                                  ? first
                                  : first.movedim(1, -1).contiguous();
    const at::Tensor expected = Reference(images, to_do);
    EXPECT_TRUE(at::allclose(Found(images, to_do, at::kFloat),
                             expected.to(at::kFloat), 1e-5, 1e-6));
    // Half a unit in the last place of bf16.
    EXPECT_TRUE(
        at::allclose(Found(images, to_do, at::kBFloat16).to(at::kDouble),
                     expected, 0.0040, 1e-5));
  }
}

TEST(Normalize, AnyNumberOfChannelsAndOneNumberForAll) {
  for (const int64_t channels : {1, 2, 3, 4, 5}) {
    for (ChannelPlace place : {ChannelPlace::kFirst, ChannelPlace::kLast}) {
      const Normalization to_do = {
          .divisor = 2, .mean = {3}, .std = {0.5}, .channels = place};
      const at::Tensor images =
          place == ChannelPlace::kFirst
              ? at::randint(256, {3, channels, 5, 7}, at::kByte)
              : at::randint(256, {3, 5, 7, channels}, at::kByte);
      EXPECT_TRUE(at::equal(Found(images, to_do, at::kFloat),
                            Reference(images, to_do).to(at::kFloat)))
          << channels;
    }
  }
}

TEST(Normalize, MeansMayDifferWhereStdDoesNot) {
  const Normalization to_do = {.divisor = 1, .mean = {1, 2}, .std = {4}};
  const at::Tensor images = at::randint(256, {2, 2, 9}, at::kByte);
  EXPECT_TRUE(at::equal(Found(images, to_do, at::kFloat),
                        Reference(images, to_do).to(at::kFloat)));
}

TEST(Normalize, DimsOfTheModelHaveTheChannelsFirst) {
  EXPECT_EQ(ModelDims({.channels = ChannelPlace::kLast},
                      std::vector<int64_t>{4, 5, 3}),
            (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(ModelDims({}, std::vector<int64_t>{4, 5, 3}),
            (std::vector<int64_t>{4, 5, 3}));
}

}  // namespace
}  // namespace ferry
