// By hand today; the place where NVML's list comes in.
#include "deploy/launch/find_slices.h"

#include "absl/status/status.h"

namespace ferry::launch {

absl::StatusOr<std::vector<Slice>> FindSlices(const LaunchOptions& options) {
  std::vector<Slice> slices(static_cast<size_t>(options.cpu_servers));
  for (const std::string& uuid : options.slice_uuids) {
    slices.push_back({.uuid = uuid});
  }
  if (slices.empty()) {
    return absl::FailedPreconditionError(
        "this build does not ask NVML for slices: expected --slices UUID,.. "
        "(nvidia-smi -L prints them) or --servers N for the CPU");
  }
  return slices;
}

}  // namespace ferry::launch
