// ClaimDevice claims a model process's device; StartCuda starts CUDA on it.
//
// Thread safety: free functions; called once each, from main, in this order.
#ifndef FERRY_MODELS_START_CUDA_H_
#define FERRY_MODELS_START_CUDA_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "models/cuda_library.h"
#include "models/device.h"

namespace ferry {

// Chooses the device, logs it and shows CUDA no other; returns null for the
// processor. `visible` is CUDA_VISIBLE_DEVICES where it is set. Errors: those
// of Device::Open(). REQUIRES: no thread was started, and CUDA is not open.
absl::StatusOr<std::unique_ptr<Device>> ClaimDevice(
    const nvml::DeviceSelector& selector,
    const std::optional<std::string>& visible);

// Opens CUDA, gives it the device's memory, or its share where compute
// instances have it together, and checks that it shows exactly that device.
// Errors: those of OpenCuda() and nvml::CheckVisible(). What CUDA tells of the
// device and NVML does not, `device` learns, and the log. REQUIRES: the device
// is claimed.
absl::StatusOr<OpenedCuda> StartCuda(
    Device& device, const std::string& library = kCudaLibraryName);

}  // namespace ferry

#endif  // FERRY_MODELS_START_CUDA_H_
