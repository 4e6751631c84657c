// CastElements casts between float types of the wire and of the weights.
//
// at::Tensor::copy_() takes longer to find its kernel than a small batch takes
// to be cast, so the pairs that each batch meets have loops of their own.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_CAST_H_
#define FERRY_MODELS_TORCH_CAST_H_

#include <c10/core/ScalarType.h>

#include <bit>
#include <cstdint>

namespace ferry {

// Returns the bits of the nearest bf16, the upper half of an fp32; ties to
// even; NaN stays NaN. Without a branch, unlike c10's own, so that loops over
// it are vectorized.
inline uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value != value ? 0x7fc0 : rounded);
}

// Elements in memory, one after the other.
struct Elements {
  void* data;
  at::ScalarType type;
};

// Casts `count` elements as at::Tensor::copy_() does. REQUIRES: the two do not
// overlap.
void CastElements(Elements from, Elements to, int64_t count);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_CAST_H_
