// Implements FloatToBf16 and Bf16ToFloat, compiled for wider vectors as well:
// the loader takes what the processor has.
#include "models/torch/bf16_cast.h"

namespace ferry {

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

}  // namespace ferry
