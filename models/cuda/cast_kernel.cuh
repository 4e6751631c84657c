// CastKernel casts elements of one type to another. Tests run it on the host
// too, a thread of the device after the other.
#ifndef FERRY_MODELS_CUDA_CAST_KERNEL_CUH_
#define FERRY_MODELS_CUDA_CAST_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "models/cuda/element_pack.cuh"

namespace ferry {

template <typename From, typename To>
__device__ To Cast(From value) {
  if constexpr (sizeof(To) == 8 && sizeof(From) >= 4 &&
                (std::is_integral_v<From> || std::is_same_v<From, double>)) {
    return static_cast<To>(value);
  } else {
    return CastTo<To>(ToFloat(value));
  }
}

template <typename From, typename To>
__global__ void CastKernel(const From* __restrict__ from, To* __restrict__ to,
                           int64_t count) {
  const int64_t packs = count / kPack;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < packs; i += step) {
    const auto in = reinterpret_cast<const ElementPack<From>*>(from)[i];
    ElementPack<To> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      out.values[k] = Cast<From, To>(in.values[k]);
    }
    reinterpret_cast<ElementPack<To>*>(to)[i] = out;
  }
  const int64_t rest = packs * kPack + first;
  if (rest < count) {
    to[rest] = Cast<From, To>(from[rest]);
  }
}

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_CAST_KERNEL_CUH_
