// CastImagesKernel casts images and changes where their channels stand. A
// thread writes packs in the model's order; neighbours read what stands close
// together, and is cached. Tests run it on the host too.
#ifndef FERRY_MODELS_CUDA_CAST_IMAGES_KERNEL_CUH_
#define FERRY_MODELS_CUDA_CAST_IMAGES_KERNEL_CUH_

#include <cstdint>

#include "models/cuda/element_pack.cuh"
#include "models/cuda/image_layout.h"

namespace ferry {

template <typename From, typename To>
__global__ void CastImagesKernel(const From* __restrict__ from,
                                 ImageLayout from_layout, To* __restrict__ to,
                                 ImageLayout to_layout, int64_t count) {
  const int64_t packs = count / kPack;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < packs; i += step) {
    ImagePlace at = to_layout.PlaceOf(i * kPack);
    ElementPack<To> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      out.values[k] = CastTo<To>(ToFloat(from[from_layout.IndexOf(at)]));
      at = to_layout.After(at);
    }
    reinterpret_cast<ElementPack<To>*>(to)[i] = out;
  }
  const int64_t rest = packs * kPack + first;
  if (rest < count) {
    const ImagePlace at = to_layout.PlaceOf(rest);
    to[rest] = CastTo<To>(ToFloat(from[from_layout.IndexOf(at)]));
  }
}

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_CAST_IMAGES_KERNEL_CUH_
