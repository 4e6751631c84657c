// Implements CastImages with one kernel for each pair of types.
#include "models/cuda/cast_images.h"
#include "models/cuda/cast_images_kernel.cuh"
#include "models/cuda/launch_kernel.cuh"

namespace ferry {
namespace {

struct Images {
  DeviceElements from;
  ImageLayout from_layout;
  DeviceElements to;
  ImageLayout to_layout;
  int64_t count;  // elements
};

template <typename From, typename To>
cudaError_t Start(const Images& images, cudaStream_t stream) {
  return LaunchKernel(&CastImagesKernel<From, To>, images.count, stream,
                      static_cast<const From*>(images.from.data),
                      images.from_layout, static_cast<To*>(images.to.data),
                      images.to_layout, images.count);
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
