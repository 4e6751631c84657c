// LaunchOptions holds the flags of ferry-launch. What stands after "--" belongs
// to the servers.
//
// Thread safety: plain values.
// Errors: INVALID_ARGUMENT with one line for the first wrong flag.
#ifndef FERRY_DEPLOY_LAUNCH_LAUNCH_OPTIONS_H_
#define FERRY_DEPLOY_LAUNCH_LAUNCH_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/launch/launch_plan.h"
#include "deploy/launch/supervisor.h"

namespace ferry::launch {

struct LaunchOptions {
  enum class Action { kRun, kPrintPlan, kPrint };

  Action action = Action::kRun;
  std::string text;  // kPrint: help or version
  // At most one of the two; neither: the slices that NVML finds.
  int cpu_servers = 0;
  std::vector<std::string> slice_uuids;
  // CUDA_VISIBLE_DEVICES, where it is set: a bound from outside.
  std::optional<std::string> visible_devices;
  PlanOptions plan;  // `server` is empty where none was given
  SupervisorOptions supervisor;
};

absl::StatusOr<LaunchOptions> ParseLaunchOptions(int argc,
                                                 const char* const* argv);

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_LAUNCH_OPTIONS_H_
