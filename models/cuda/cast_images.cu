// Implements CastImages like NormalizeImages: a thread writes packs in the
// model's order; neighbours read what stands close together, and is cached.
#include "models/cuda/cast_images.h"
#include "models/cuda/element_pack.cuh"

namespace ferry {
namespace {

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

struct Images {
  DeviceElements from;
  ImageLayout from_layout;
  DeviceElements to;
  ImageLayout to_layout;
  int64_t count;  // elements
};

template <typename From, typename To>
cudaError_t Start(const Images& images, cudaStream_t stream) {
  CastImagesKernel<<<BlocksFor(images.count / kPack), kThreads, 0, stream>>>(
      static_cast<const From*>(images.from.data), images.from_layout,
      static_cast<To*>(images.to.data), images.to_layout, images.count);
  return cudaGetLastError();
}

template <typename From>
cudaError_t StartFrom(const Images& images, cudaStream_t stream) {
  switch (images.to.type) {
    case DataType::kFp16:
      return Start<From, __half>(images, stream);
    case DataType::kBf16:
      return Start<From, __nv_bfloat16>(images, stream);
    case DataType::kFp32:
      return Start<From, float>(images, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t CastImages(DeviceElements from, const ImageLayout& from_layout,
                       DeviceElements to, const ImageLayout& to_layout,
                       int64_t images, cudaStream_t stream) {
  if (from_layout.channels != to_layout.channels ||
      from_layout.pixels != to_layout.pixels || from_layout.channels < 1) {
    return cudaErrorInvalidValue;
  }
  const Images all = {from, from_layout, to, to_layout,
                      images * to_layout.image_elements()};
  if (all.count == 0) {
    return cudaSuccess;  // either may be null
  }
  switch (from.type) {
    case DataType::kFp16:
      return StartFrom<__half>(all, stream);
    case DataType::kBf16:
      return StartFrom<__nv_bfloat16>(all, stream);
    case DataType::kFp32:
      return StartFrom<float>(all, stream);
    case DataType::kFp64:
      return StartFrom<double>(all, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace ferry
