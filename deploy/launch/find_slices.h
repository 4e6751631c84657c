// FindSlices says which slices get a server: those named, as many CPU servers
// as asked for, or what NVML lists.
//
// Thread safety: plain functions.
// Errors: FAILED_PRECONDITION where NVML must be asked, and cannot be or has
// none.
#ifndef FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_
#define FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/launch/launch_options.h"
#include "deploy/launch/slice.h"
#include "models/nvml/devices.h"

namespace ferry::launch {

// Each MIG device, and each GPU without MIG. A GPU with MIG on is no slice
// itself: CUDA would show some part of it.
std::vector<Slice> SlicesOf(const nvml::Devices& devices);

// Returns a line for each GPU that SlicesOf() gives no server: "GPU 1 cannot be
// looked at, GPU_IS_LOST: no server".
std::vector<std::string> LeftOut(const nvml::Devices& devices);

absl::StatusOr<std::vector<Slice>> FindSlices(const LaunchOptions& options);

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_
