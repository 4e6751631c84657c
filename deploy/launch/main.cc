// ferry-launch runs one ferry-server for each slice.
//
// Exit codes: 0 all servers were drained; 1 nothing was started: wrong flags,
// no slices, no server program; 2 some server failed or was down at the end;
// 128 + n ended at once by a second signal n.
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "deploy/launch/find_slices.h"
#include "deploy/launch/launch_options.h"
#include "deploy/launch/launch_plan.h"
#include "deploy/launch/supervisor.h"

namespace ferry::launch {
namespace {

int CannotLaunch(const absl::Status& status) {
  std::fprintf(stderr, "ferry-launch: %s\n",
               std::string(status.message()).c_str());
  return kExitNotStarted;
}

std::string ServerBesideThis() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  const std::string self(path, size > 0 ? static_cast<size_t>(size) : 0);
  return self.substr(0, self.rfind('/') + 1) + "ferry-server";
}

// A folder passes access(), and would be started for ever.
absl::Status CheckProgram(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    int64_t servers = 0;
    return absl::NotFoundError(absl::StrCat(
        "--server: expected a program, got '", path, "': ", strerror(errno),
        absl::SimpleAtoi(path, &servers) && servers > 0
            ? absl::StrCat("; --servers ", path, " starts as many on the CPU")
            : ""));
  }
  if (!S_ISREG(status.st_mode) || access(path.c_str(), X_OK) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--server: expected a program, got '", path, "', which is ",
        S_ISREG(status.st_mode) ? "not executable" : "no file"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ServerPlan>> Plan(LaunchOptions& options) {
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
      visible != nullptr) {
    options.visible_devices = visible;
  }
  if (options.plan.server.empty()) {
    options.plan.server = ServerBesideThis();
  }
  // The commands may be for another machine.
  if (options.action != LaunchOptions::Action::kPrintPlan) {
    if (absl::Status status = CheckProgram(options.plan.server); !status.ok()) {
      return status;
    }
  }
  const auto slices = FindSlices(options);
  if (!slices.ok()) {
    return slices.status();
  }
  return MakePlan(options.plan, *slices);
}

int Launch(LaunchOptions options) {
  auto plans = Plan(options);
  if (!plans.ok()) {
    return CannotLaunch(plans.status());
  }
  if (options.action == LaunchOptions::Action::kPrintPlan) {
    for (const ServerPlan& plan : *plans) {
      std::printf("%s\n", ToShellLine(plan).c_str());
    }
    return kExitAllDrained;
  }
  return Supervisor(*std::move(plans), options.supervisor).Run();
}

}  // namespace
}  // namespace ferry::launch

int main(int argc, char** argv) {
  auto options = ferry::launch::ParseLaunchOptions(argc, argv);
  if (!options.ok()) {
    return ferry::launch::CannotLaunch(options.status());
  }
  if (options->action == ferry::launch::LaunchOptions::Action::kPrint) {
    std::fputs(options->text.c_str(), stdout);
    return ferry::launch::kExitAllDrained;
  }
  return ferry::launch::Launch(*std::move(options));
}
