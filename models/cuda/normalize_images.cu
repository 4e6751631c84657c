// Implements NormalizeImages: a thread writes packs in the model's order; what
// it reads stands close together in either layout, and is cached.
#include "models/cuda/element_pack.cuh"
#include "models/cuda/normalize_images.h"

namespace ferry {
namespace {

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

template <typename To>
cudaError_t Start(const uint8_t* from, const ImageLayout& from_layout, void* to,
                  const ImageLayout& to_layout, int64_t count,
                  const ChannelScales& scales, cudaStream_t stream) {
  NormalizeKernel<<<BlocksFor(count / kPack), kThreads, 0, stream>>>(
      from, from_layout, static_cast<To*>(to), to_layout, count, scales);
  return cudaGetLastError();
}

}  // namespace

cudaError_t NormalizeImages(const uint8_t* from, const ImageLayout& from_layout,
                            DeviceElements to, const ImageLayout& to_layout,
                            int64_t images, const ChannelScales& scales,
                            cudaStream_t stream) {
  if (from_layout.channels != to_layout.channels ||
      from_layout.pixels != to_layout.pixels || from_layout.channels < 1 ||
      from_layout.channels > ChannelScales::kMost) {
    return cudaErrorInvalidValue;
  }
  const int64_t count = images * to_layout.image_elements();
  if (count == 0) {
    return cudaSuccess;
  }
  switch (to.type) {
    case DataType::kFp16:
      return Start<__half>(from, from_layout, to.data, to_layout, count, scales,
                           stream);
    case DataType::kBf16:
      return Start<__nv_bfloat16>(from, from_layout, to.data, to_layout, count,
                                  scales, stream);
    case DataType::kFp32:
      return Start<float>(from, from_layout, to.data, to_layout, count, scales,
                          stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace ferry
