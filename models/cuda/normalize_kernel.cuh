// NormalizeKernel makes floats of images of bytes. A thread writes packs in the
// model's order; what it reads stands close together in either layout, and is
// cached. Tests run it on the host too.
#ifndef FERRY_MODELS_CUDA_NORMALIZE_KERNEL_CUH_
#define FERRY_MODELS_CUDA_NORMALIZE_KERNEL_CUH_

#include <cstdint>

#include "models/cuda/element_pack.cuh"
#include "models/cuda/image_layout.h"
#include "models/cuda/normalize_images.h"

namespace ferry {

// Multiplied, then added, each rounded: as the processor does.
template <typename To>
__device__ To Normalized(uint8_t value, int32_t channel,
                         const ChannelScales& scales) {
  return CastTo<To>(
      __fadd_rn(__fmul_rn(static_cast<float>(value), scales.scale[channel]),
                scales.shift[channel]));
}

template <typename To>
__device__ To ElementAt(const uint8_t* from, const ImageLayout& from_layout,
                        const ImageLayout& to_layout, int64_t index,
                        const ChannelScales& scales) {
  const ImagePlace at = to_layout.PlaceOf(index);
  return Normalized<To>(from[from_layout.IndexOf(at)], at.channel, scales);
}

template <typename To>
__global__ void NormalizeKernel(const uint8_t* __restrict__ from,
                                ImageLayout from_layout, To* __restrict__ to,
                                ImageLayout to_layout, int64_t count,
                                const __grid_constant__ ChannelScales scales) {
  const int64_t packs = count / kPack;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < packs; i += step) {
    ElementPack<To> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      out.values[k] =
          ElementAt<To>(from, from_layout, to_layout, i * kPack + k, scales);
    }
    reinterpret_cast<ElementPack<To>*>(to)[i] = out;
  }
  const int64_t rest = packs * kPack + first;
  if (rest < count) {
    to[rest] = ElementAt<To>(from, from_layout, to_layout, rest, scales);
  }
}

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_NORMALIZE_KERNEL_CUH_
