// FloatToBf16 and Bf16ToFloat cast to and from bf16, the upper half of an fp32.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_BF16_CAST_H_
#define FERRY_MODELS_TORCH_BF16_CAST_H_

#include <bit>
#include <cstdint>

namespace ferry {

// Returns the bits of the nearest bf16, ties to even; NaN stays NaN. Without a
// branch, unlike c10's own, so that loops over it are vectorized.
inline uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value != value ? 0x7fc0 : rounded);
}

// Casts `count` elements. REQUIRES: the two do not overlap.
void FloatToBf16(const float* from, uint16_t* to, int64_t count);
void Bf16ToFloat(const uint16_t* from, float* to, int64_t count);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_BF16_CAST_H_
