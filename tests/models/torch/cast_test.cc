// Tests casts against those of LibTorch, bit by bit.
#include "models/torch/cast.h"

#include <ATen/ATen.h>

#include <bit>
#include <limits>

#include "gtest/gtest.h"

namespace ferry {
namespace {

TEST(Cast, RoundsToBf16AsLibTorchDoes) {
  // Every sign, exponent and upper mantissa, with what decides the rounding.
  for (uint32_t upper = 0; upper <= 0xffff; ++upper) {
    for (uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const auto value = std::bit_cast<float>(upper << 16 | lower);
      const c10::BFloat16 expected(value);
      const c10::BFloat16 found(ToBf16(value), c10::BFloat16::from_bits());
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(static_cast<float>(found))) << upper;
      } else {
        ASSERT_EQ(found.x, expected.x) << upper << " " << lower;
      }
    }
  }
}

TEST(Cast, EveryPairOfTypesIsThatOfCopy) {
  const auto types = {at::kFloat, at::kBFloat16, at::kHalf, at::kInt,
                      at::kLong,  at::kByte,     at::kBool};
  for (at::ScalarType from : types) {
    for (at::ScalarType to : types) {
      // An odd number, so that a vectorized loop has a rest.
      at::Tensor values = (at::arange(101) % 7).to(from);
      at::Tensor found = at::empty({101}, to);
      CastElements({values.data_ptr(), from}, {found.data_ptr(), to}, 101);
      EXPECT_TRUE(at::equal(found, values.to(to)))
          << c10::toString(from) << " to " << c10::toString(to);
    }
  }
}

}  // namespace
}  // namespace ferry
