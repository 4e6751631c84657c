// FindSlices says which slices get a server: those named, as many CPU servers
// as asked for, or what NVML lists.
//
// Thread safety: plain functions.
// Errors: FAILED_PRECONDITION where NVML must be asked, and cannot be or has
// none.
#ifndef FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_
#define FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "deploy/launch/launch_options.h"
#include "deploy/launch/slice.h"
#include "models/nvml/devices.h"

namespace ferry::launch {

// Each MIG device, and each GPU without MIG. A GPU with MIG on is no slice
// itself: CUDA would show some part of it.
std::vector<Slice> SlicesOf(const nvml::Devices& devices);

absl::StatusOr<std::vector<Slice>> FindSlices(const LaunchOptions& options);

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_
