// OpenCuda opens the shared library with what needs CUDA, when --device asks
// for it: one program runs with and without CUDA and a driver.
//
// Thread safety: one call, before models are loaded.
#ifndef FERRY_MODELS_CUDA_LIBRARY_H_
#define FERRY_MODELS_CUDA_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"
#include "models/cuda/cuda_entry.h"

namespace ferry {

inline constexpr char kCudaLibraryName[] = "libferry_cuda.so";

// Starts CUDA on the first device that it shows: FerryOpenCuda.
// FAILED_PRECONDITION where the library, LibTorch's for CUDA or a driver is
// missing, with what is, and where the library is of another build than this
// program, with both. The loader looks for a name without a folder.
absl::StatusOr<OpenedCuda> OpenCuda(double memory_share,
                                    const std::string& file = kCudaLibraryName);

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_LIBRARY_H_
