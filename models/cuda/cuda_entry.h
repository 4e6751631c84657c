// Declares what the shared library ferry_cuda exports, without headers of CUDA
// or LibTorch.
//
// Thread safety: one call, of one thread.
#ifndef FERRY_MODELS_CUDA_CUDA_ENTRY_H_
#define FERRY_MODELS_CUDA_CUDA_ENTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferry {

class DeviceRuntime;  // models/torch/device/device_runtime.h

struct OpenedCuda {
  std::shared_ptr<DeviceRuntime> device;
  // Whether nothing succeeds on it any more; from any thread.
  std::function<bool()> is_lost;
  std::vector<std::string> uuids;  // of all devices that CUDA shows
  int multiprocessors = 0;         // of the first of them
  std::string description;         // for the log
};

inline constexpr char kCudaBuildName[] = "FerryCudaBuild";
using CudaBuild = const char* (*)();
inline constexpr char kCudaEntryName[] = "FerryOpenCuda";
using CudaEntry = void (*)(double memory_share,
                           absl::StatusOr<OpenedCuda>& opened);

}  // namespace ferry

// Returns BuildIdentity() of the library. In C alone, for a program of another
// build, which must call nothing else.
extern "C" const char* FerryCudaBuild();

// Starts CUDA on the first device that it shows; `memory_share` of that
// device's memory is the process's. FAILED_PRECONDITION where it cannot.
extern "C" void FerryOpenCuda(double memory_share,
                              absl::StatusOr<ferry::OpenedCuda>& opened);

#endif  // FERRY_MODELS_CUDA_CUDA_ENTRY_H_
