// Implements CastElements: loops for fp32 and bf16, LibTorch's copy for others.
#include "models/torch/cast.h"

#include <ATen/Functions.h>

#include <cstring>

namespace ferry {

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
