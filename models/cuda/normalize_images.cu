// Implements NormalizeImages with one kernel for each type.
#include "models/cuda/launch_kernel.cuh"
#include "models/cuda/normalize_images.h"
#include "models/cuda/normalize_kernel.cuh"

namespace ferry {
namespace {

template <typename To>
cudaError_t Start(const uint8_t* from, const ImageLayout& from_layout, void* to,
                  const ImageLayout& to_layout, int64_t count,
                  const ChannelScales& scales, cudaStream_t stream) {
  return LaunchKernel(&NormalizeKernel<To>, count, stream, from, from_layout,
                      static_cast<To*>(to), to_layout, count, scales);
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
