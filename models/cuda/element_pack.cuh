// ElementPack holds the elements that one thread of the device moves at once,
// in accesses of up to 16 bytes.
#ifndef FERRY_MODELS_CUDA_ELEMENT_PACK_CUH_
#define FERRY_MODELS_CUDA_ELEMENT_PACK_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace ferry {

inline constexpr int kPack = 8;

template <typename T>
struct alignas(sizeof(T) * kPack < 16 ? sizeof(T) * kPack : 16) ElementPack {
  T values[kPack];
};

// By way of fp32, as LibTorch casts on a CPU, but between fp64 and integers.
template <typename To, typename From>
__device__ inline To CastTo(From value) {
  return static_cast<To>(value);
}
template <>
__device__ inline __half CastTo(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 CastTo(float value) {
  return __float2bfloat16_rn(value);
}

template <typename T>
__device__ inline float ToFloat(T value) {
  return static_cast<float>(value);
}
template <>
__device__ inline float ToFloat(__half value) {
  return __half2float(value);
}
template <>
__device__ inline float ToFloat(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

// Blocks for that many packs: enough for any device to be full, few enough that
// each thread has several.
inline constexpr int kThreads = 256;
inline int BlocksFor(int64_t packs) {
  constexpr int64_t kMost = 1184;  // 8 a multiprocessor of 148
  const int64_t blocks = (packs + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < 1 ? 1 : blocks < kMost ? blocks : kMost);
}

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_ELEMENT_PACK_CUH_
