// Starts CUDA on the device that the process has claimed.
//
// Thread safety: free function; called once, from main.
#ifndef FERRY_SERVER_START_CUDA_H_
#define FERRY_SERVER_START_CUDA_H_

#include <string>

#include "absl/status/statusor.h"
#include "models/cuda_library.h"
#include "server/device.h"

namespace ferry {

// Opens CUDA, leaves it the share of the device's memory that is left beside
// its own, and checks that it shows exactly that device. Errors: those of
// OpenCuda() and nvml::CheckVisible(). What CUDA tells of the device and NVML
// does not, `device` learns, and the log. REQUIRES: device.Claim() was called.
absl::StatusOr<OpenedCuda> StartCuda(
    Device& device, const std::string& library = kCudaLibraryName);

}  // namespace ferry

#endif  // FERRY_SERVER_START_CUDA_H_
