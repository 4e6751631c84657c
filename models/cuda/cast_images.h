// CastImages casts images of floats to a model's type and layout, in device
// memory, in one pass.
//
// Thread safety: free function; what it starts runs in the stream's order.
// Errors: those of a launch.
#ifndef FERRY_MODELS_CUDA_CAST_IMAGES_H_
#define FERRY_MODELS_CUDA_CAST_IMAGES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "models/cuda/cast_elements.h"
#include "models/cuda/image_layout.h"

namespace ferry {

// Starts to write `images` images to `to`, laid out as `to_layout` says and
// cast as CastElements() casts; of one type they are only laid out. `to` is
// 16-byte aligned, `from` as its elements are. cudaErrorInvalidValue for
// layouts that do not hold as many pixels and channels, and where there is no
// such cast: `from` is one of FP16, BF16, FP32 and FP64, `to` of the first
// three.
cudaError_t CastImages(DeviceElements from, const ImageLayout& from_layout,
                       DeviceElements to, const ImageLayout& to_layout,
                       int64_t images, cudaStream_t stream);

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_CAST_IMAGES_H_
