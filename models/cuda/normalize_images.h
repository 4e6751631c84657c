// NormalizeImages turns images of bytes into the floats that a model takes, in
// device memory, in one pass.
//
// Thread safety: free function; what it starts runs in the stream's order.
// Errors: those of a launch.
#ifndef FERRY_MODELS_CUDA_NORMALIZE_IMAGES_H_
#define FERRY_MODELS_CUDA_NORMALIZE_IMAGES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "models/cuda/cast_elements.h"
#include "models/cuda/image_layout.h"

namespace ferry {

// x * scale + shift of each channel. Passed to the kernel by value, so that a
// launch in a graph keeps it.
struct ChannelScales {
  static constexpr int32_t kMost = 64;
  float scale[kMost] = {};
  float shift[kMost] = {};
};

// Starts to write `images` images to `to`, which is FP16, BF16 or FP32 and laid
// out as `to_layout` says. `from` and `to` are 16-byte aligned.
// cudaErrorInvalidValue for other types, and for layouts that do not hold as
// many pixels and channels, at most ChannelScales::kMost.
cudaError_t NormalizeImages(const uint8_t* from, const ImageLayout& from_layout,
                            DeviceElements to, const ImageLayout& to_layout,
                            int64_t images, const ChannelScales& scales,
                            cudaStream_t stream);

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_NORMALIZE_IMAGES_H_
