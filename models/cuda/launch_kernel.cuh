// LaunchKernel() puts one of our kernels on a stream, and returns its error,
// not one that an earlier call left, as cudaGetLastError() may.
#ifndef FERRY_MODELS_CUDA_LAUNCH_KERNEL_CUH_
#define FERRY_MODELS_CUDA_LAUNCH_KERNEL_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "models/cuda/element_pack.cuh"

namespace ferry {

// `count` elements, of which a thread moves a pack at a time.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchKernel(void (*kernel)(Parameters...), int64_t count,
                         cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = BlocksFor(count / kPack);
  config.blockDim = kThreads;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_LAUNCH_KERNEL_CUH_
