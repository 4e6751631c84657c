// FindSlices: which slices get a server: those named, as many CPU servers as
// asked for, or what the machine has.
//
// Thread safety: plain functions.
// Errors: FAILED_PRECONDITION where the machine must be asked and cannot be.
#ifndef FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_
#define FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "deploy/launch/launch_options.h"
#include "deploy/launch/slice.h"

namespace ferry::launch {

absl::StatusOr<std::vector<Slice>> FindSlices(const LaunchOptions& options);

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_FIND_SLICES_H_
