// CastElements casts between float types of the wire and of the weights.
//
// at::Tensor::copy_() takes longer to find its kernel than a small batch takes
// to be cast, so the pairs that each batch meets have loops of their own.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_CAST_H_
#define FERRY_MODELS_TORCH_CAST_H_

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "models/torch/bf16_cast.h"

namespace ferry {

// Elements in memory, one after the other.
struct Elements {
  void* data;
  at::ScalarType type;
};

// Casts `count` elements as at::Tensor::copy_() does.
void CastElements(Elements from, Elements to, int64_t count);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_CAST_H_
