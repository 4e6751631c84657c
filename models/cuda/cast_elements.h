// CastElements casts elements in device memory: from the types of the wire to
// what a model computes in, and back.
//
// Thread safety: free functions; what they start runs in the stream's order.
// Errors: those of a launch; what went wrong while it ran is told by the
// stream.
#ifndef FERRY_MODELS_CUDA_CAST_ELEMENTS_H_
#define FERRY_MODELS_CUDA_CAST_ELEMENTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tensor/data_type.h"

namespace ferry {

// Elements in device memory, one after the other; 16-byte aligned.
struct DeviceElements {
  void* data;
  DataType type;
};

// Starts to cast `count` elements, to the nearest value, ties to even; NaN
// stays NaN. FP64 and integers of 32 bits and more go by way of FP32, but to
// FP64, and so are rounded twice, as LibTorch does. Elements of one type are
// copied.
// cudaErrorInvalidValue where there is no such cast: `to` is one of FP16, BF16,
// FP32 and FP64, `from` any type but BYTES.
cudaError_t CastElements(DeviceElements from, DeviceElements to, int64_t count,
                         cudaStream_t stream);

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_CAST_ELEMENTS_H_
