// Implements CastElements: loops for fp32 and bf16, LibTorch's copy for others.
#include "models/torch/cast.h"

#include <ATen/Functions.h>

#include <cstring>

namespace ferry {
namespace {

// Compiled for wider vectors as well: the loader takes what the processor has.
__attribute__((target_clones("avx512f", "default"))) void FloatToBf16(
    const float* from, uint16_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = ToBf16(from[i]);
  }
}

__attribute__((target_clones("avx512f", "default"))) void Bf16ToFloat(
    const uint16_t* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16);
  }
}

}  // namespace

void CastElements(Elements from, Elements to, int64_t count) {
  if (count == 0) {
    return;  // either may be null
  }
  if (from.type == to.type) {
    std::memcpy(to.data, from.data,
                static_cast<size_t>(count) * c10::elementSize(to.type));
  } else if (from.type == at::kFloat && to.type == at::kBFloat16) {
    FloatToBf16(static_cast<const float*>(from.data),
                static_cast<uint16_t*>(to.data), count);
  } else if (from.type == at::kBFloat16 && to.type == at::kFloat) {
    Bf16ToFloat(static_cast<const uint16_t*>(from.data),
                static_cast<float*>(to.data), count);
  } else {
    at::from_blob(to.data, {count}, to.type)
        .copy_(at::from_blob(from.data, {count}, from.type));
  }
}

}  // namespace ferry
