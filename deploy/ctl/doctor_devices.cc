// Implements the checks of doctor_checks.h that look at devices.
#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "deploy/ctl/doctor_checks.h"
#include "deploy/ctl/doctor_words.h"
#include "models/nvml/device_choice.h"

namespace ferry::ctl {
namespace {

using Kind = nvml::DeviceSelector::Kind;

// What CUDA 13 needs: CUDA Toolkit Release Notes, "CUDA Toolkit and
// Corresponding Driver Versions"; models/cuda/cuda_device.cc says the same.
constexpr int kLeastDriver = 580;

constexpr char kInstall[] =
    "install NVIDIA's driver 580 or newer; in a container, start that with "
    "NVIDIA's container toolkit (--gpus); without a GPU, serve with "
    "--device=cpu";

bool IsOf(const absl::Status& status, nvml::Code code) {
  return absl::StrContains(status.message(), nvml::CodeName(code));
}

constexpr char kMpsPipes[] = "CUDA_MPS_PIPE_DIRECTORY";
constexpr char kMpsDaemon[] = "nvidia-cuda-mps-control";

std::string DeviceOf(const PlannedServer& server) {
  return ValueOf(server.flags, "--device").value_or("cpu");
}

bool IsOnCpu(const PlannedServer& server) { return DeviceOf(server) == "cpu"; }

// Whether all servers that are named are without a device.
bool AllServeOnCpu(const DoctorFacts& facts) {
  return facts.servers.ok() && !facts.servers->empty() &&
         std::all_of(facts.servers->begin(), facts.servers->end(), IsOnCpu);
}

Severity OfDevices(const DoctorFacts& facts) {
  return AllServeOnCpu(facts) ? Severity::kNote : Severity::kCritical;
}

// Whether it is known that there is no driver, or none that starts.
bool HasNoDriver(const DoctorFacts& facts) {
  const absl::Status& status = facts.driver.status();
  return absl::IsNotFound(status) || (absl::IsFailedPrecondition(status) &&
                                      !IsOf(status, nvml::Code::kNoPermission));
}

std::string StartRemedy(const absl::Status& status) {
  if (IsOf(status, nvml::Code::kDriverNotLoaded)) {
    return "load it: `modprobe nvidia`, and see `dmesg` where that fails";
  }
  if (IsOf(status, nvml::Code::kLibRmVersionMismatch)) {
    return "library and kernel module are of different versions: load the "
           "module anew, or start the machine anew";
  }
  return "see `dmesg` and `nvidia-smi`";
}

bool IsMigOnAnywhere(const nvml::Devices& devices) {
  return std::any_of(
      devices.gpus.begin(), devices.gpus.end(),
      [](const nvml::Gpu& gpu) { return gpu.is_mig_on.value_or(false); });
}

bool HasUnread(const nvml::Devices& devices) {
  return !devices.unread.empty() ||
         std::any_of(devices.gpus.begin(), devices.gpus.end(),
                     [](const nvml::Gpu& gpu) {
                       return gpu.is_mig_unread ||
                              gpu.mig_devices_unread.has_value();
                     });
}

// Adds why a device cannot be had; the message ends with what NVML sees.
void AddRefusal(const std::string& source, const absl::Status& status,
                const nvml::Devices& devices, Check& check) {
  const std::string what =
      absl::StrCat(source, ": ", std::string(status.message()));
  if (!absl::IsNotFound(status)) {
    check.findings.push_back(
        {Severity::kCritical, "device_refused",
         absl::StrCat(what, "; give the UUID of one that can be taken")});
    return;
  }
  if (!HasUnread(devices)) {
    check.findings.push_back(
        {Severity::kCritical, "no_such_device",
         absl::StrCat(what,
                      "; give the UUID of one of these, as `ferryctl "
                      "units` does")});
    return;
  }
  check.outcome = Check::Outcome::kUnknown;
  check.findings.push_back(
      {Severity::kWarning, "device_is_unknown",
       absl::StrCat(what, "; unknown, as not all could be looked at")});
}

// Adds that an index names a device, which with MIG is some part of one.
void AddIndex(const std::string& what, const nvml::Devices& devices,
              Check& check) {
  if (IsMigOnAnywhere(devices)) {
    check.findings.push_back(
        {Severity::kCritical, "index_with_mig",
         absl::StrCat(what,
                      "; MIG is on, so an index is some slice: name one "
                      "by its UUID, as `ferryctl units` does")});
    return;
  }
  check.findings.push_back(
      {Severity::kWarning, "device_by_index",
       absl::StrCat(what, "; name the device by its UUID")});
}

// Whether CUDA_VISIBLE_DEVICES has what is no UUID.
bool HasIndex(const std::string& visible) {
  for (const absl::string_view entry : absl::StrSplit(visible, ',')) {
    const auto one = nvml::ParseDevice(absl::StripAsciiWhitespace(entry));
    if (!one.ok() || one->uuid.empty()) {
      return true;
    }
  }
  return false;
}

// Looks at the device of one server.
void Look(const PlannedServer& server, const nvml::DeviceSelector& selector,
          const nvml::Devices& devices, Check& check) {
  const auto visible = ValueOf(server.environment, "CUDA_VISIBLE_DEVICES");
  const absl::Status status = nvml::Choose(selector, devices, visible).status();
  if (status.ok()) {
    return;
  }
  const bool is_part = selector.kind == Kind::kCudaIndex &&
                       absl::IsFailedPrecondition(status) &&
                       IsMigOnAnywhere(devices);
  if (is_part || (visible.has_value() && HasIndex(*visible))) {
    AddIndex(absl::StrCat(server.source, ": ", std::string(status.message())),
             devices, check);
    return;
  }
  AddRefusal(server.source, status, devices, check);
}

}  // namespace

Check CheckDriver(const DoctorFacts& facts) {
  Check check = {.name = "driver"};
  const absl::Status& status = facts.driver.status();
  const std::string message(status.message());
  if (absl::IsNotFound(status)) {
    check.evidence = "none";
    check.findings = {{OfDevices(facts), "driver_missing",
                       absl::StrCat(message, "; ", kInstall)}};
    return check;
  }
  if (HasNoDriver(facts)) {
    check.evidence = "does not start";
    check.findings = {{OfDevices(facts), "driver_does_not_start",
                       absl::StrCat(message, "; ", StartRemedy(status))}};
    return check;
  }
  if (!status.ok()) {
    return Unknown(check, "driver_is_unknown", status);
  }
  const std::vector<std::string> parts = absl::StrSplit(*facts.driver, '.');
  int major = 0;
  if (!absl::SimpleAtoi(parts[0], &major)) {
    return Unknown(check, "driver_is_unknown",
                   absl::NotFoundError(absl::StrCat("expected a version, got '",
                                                    *facts.driver, "'")));
  }
  check.evidence = *facts.driver;
  if (major < kLeastDriver) {
    check.findings = {
        {OfDevices(facts), "driver_too_old",
         absl::StrCat("CUDA 13 needs a driver of version ", kLeastDriver,
                      " or newer, found ", *facts.driver,
                      ": install one, or the package cuda-compat-13-0")}};
  }
  return check;
}

Check CheckGpus(const DoctorFacts& facts) {
  Check check = {.name = "GPUs"};
  const absl::Status& status = facts.devices.status();
  if (HasNoDriver(facts)) {
    return Nothing(check, "no driver");
  }
  if (IsOf(status, nvml::Code::kGpuIsLost)) {
    check.evidence = "lost";
    check.findings = {
        {Severity::kCritical, "driver_lost",
         absl::StrCat(std::string(status.message()), "; ", kResetRemedy)}};
    return check;
  }
  if (!status.ok()) {
    return Unknown(check, "gpus_are_unknown", status);
  }
  check.evidence = absl::StrCat(facts.devices->gpus.size());
  for (const nvml::UnreadGpu& gpu : facts.devices->unread) {
    AddUnread(absl::StrCat("GPU ", gpu.index), gpu.code, check);
  }
  for (const nvml::Gpu& gpu : facts.devices->gpus) {
    if (gpu.is_mig_unread) {
      check.outcome = Check::Outcome::kUnknown;
      check.findings.push_back(
          {Severity::kWarning, "mig_mode_is_unknown",
           absl::StrCat(gpu.uuid,
                        " does not tell whether MIG is on: no server "
                        "takes it")});
    } else if (gpu.mig_devices_unread.has_value()) {
      AddUnread(absl::StrCat("a MIG device of ", gpu.uuid),
                *gpu.mig_devices_unread, check);
    } else if (gpu.is_mig_on.value_or(false) && gpu.mig_devices.empty()) {
      check.findings.push_back(
          {Severity::kWarning, "mig_without_slices",
           absl::StrCat(gpu.uuid,
                        " has MIG on and no slice, so no server can have it: "
                        "make slices (`ferryctl mig-plan`), or turn MIG off")});
    }
  }
  return check;
}

Check CheckServerDevices(const DoctorFacts& facts) {
  Check check = {.name = "devices of servers"};
  if (!facts.servers.ok()) {
    return Unknown(check, "servers_are_unknown", facts.servers.status());
  }
  if (facts.servers->empty()) {
    return Nothing(check, "no server is named");
  }
  std::vector<std::string> texts;
  for (const PlannedServer& server : *facts.servers) {
    const std::string text = DeviceOf(server);
    texts.push_back(text);
    const auto selector = nvml::ParseDevice(text);
    if (!selector.ok()) {
      check.findings.push_back(
          {Severity::kCritical, "device_refused",
           absl::StrCat(server.source, ": ",
                        std::string(selector.status().message()))});
      continue;
    }
    if (selector->kind == Kind::kCpu) {
      continue;
    }
    if (HasNoDriver(facts)) {
      return Nothing(check, "no driver");
    }
    if (!facts.devices.ok()) {
      return Unknown(check, "devices_are_unknown", facts.devices.status());
    }
    Look(server, *selector, *facts.devices, check);
  }
  check.evidence = texts.size() == 1 ? texts[0] : absl::StrCat(texts.size());
  return check;
}

Check CheckVisibleDevices(const DoctorFacts& facts) {
  Check check = {.name = "CUDA_VISIBLE_DEVICES"};
  if (!facts.environment.ok()) {
    return Unknown(check, "environment_is_unknown", facts.environment.status());
  }
  const auto visible = ValueOf(*facts.environment, "CUDA_VISIBLE_DEVICES");
  if (!visible.has_value()) {
    return Nothing(check, "not set");
  }
  if (HasNoDriver(facts)) {
    return Nothing(check, "no driver");
  }
  check.evidence = *visible;
  if (!facts.devices.ok()) {
    return Unknown(check, "devices_are_unknown", facts.devices.status());
  }
  constexpr char kSource[] = "CUDA_VISIBLE_DEVICES of this shell";
  if (HasIndex(*visible)) {
    AddIndex(absl::StrCat(kSource, ": expected UUIDs, got '", *visible,
                          "'; NVML sees: ", nvml::Describe(*facts.devices)),
             *facts.devices, check);
    return check;
  }
  for (const absl::string_view entry : absl::StrSplit(*visible, ',')) {
    const auto selector = nvml::ParseDevice(absl::StripAsciiWhitespace(entry));
    const absl::Status status =
        nvml::Choose(*selector, *facts.devices).status();
    if (!status.ok()) {
      AddRefusal(kSource, status, *facts.devices, check);
    }
  }
  return check;
}

Check CheckComputeInstances(const DoctorFacts& facts) {
  constexpr char kUnknownInstances[] = "compute_instances_are_unknown";
  Check check = {.name = "compute instances"};
  if (HasNoDriver(facts)) {
    return Nothing(check, "no driver");
  }
  if (!facts.devices.ok()) {
    return Unknown(check, kUnknownInstances, facts.devices.status());
  }
  if (!IsMigOnAnywhere(*facts.devices) && !HasUnread(*facts.devices)) {
    return Nothing(check, "MIG is off");
  }
  check.evidence = "one a GPU instance";
  for (const nvml::Gpu& gpu : facts.devices->gpus) {
    std::map<uint32_t, std::vector<std::string>> instances;
    for (const nvml::MigDevice& mig : gpu.mig_devices) {
      if (mig.gpu_instance.has_value()) {
        instances[*mig.gpu_instance].push_back(mig.uuid);
      } else {
        return Unknown(check, "compute_instances_are_unknown",
                       absl::NotFoundError(absl::StrCat(
                           mig.uuid, " does not tell its GPU instance")));
      }
    }
    for (const auto& [instance, uuids] : instances) {
      if (uuids.size() > 1) {
        check.evidence = "several in one GPU instance";
        check.findings.push_back(
            {Severity::kWarning, "compute_instances_share_memory",
             absl::StrCat(
                 "GPU instance ", instance, " of ", gpu.uuid, " has ",
                 uuids.size(), " compute instances, ",
                 absl::StrJoin(uuids, ", "),
                 ": they share its memory, and each server takes its part at "
                 "most; make one of each GPU instance (nvidia-smi mig -cgi "
                 "PROFILE -C) where tenants are to be apart")});
      }
    }
  }
  if (HasUnread(*facts.devices)) {
    return Unknown(check, kUnknownInstances,
                   absl::UnavailableError("not all could be looked at"));
  }
  return check;
}

Check CheckMps(const DoctorFacts& facts) {
  Check check = {.name = "MPS"};
  int64_t planned = 0;
  bool is_set = facts.environment.ok() &&
                ValueOf(*facts.environment, kMpsPipes).has_value();
  if (facts.servers.ok()) {
    for (const PlannedServer& server : *facts.servers) {
      planned += IsOnCpu(server) ? 0 : 1;
      is_set = is_set || ValueOf(server.environment, kMpsPipes).has_value();
    }
  }
  int64_t running = 0;
  std::string daemon;
  if (facts.processes.ok()) {
    for (const Process& process : *facts.processes) {
      running += process.program == kServerProgram ? 1 : 0;
      if (process.program == kMpsDaemon) {
        daemon = absl::StrCat(kMpsDaemon, " runs, process ", process.id);
      }
    }
  }
  const bool is_on = is_set || !daemon.empty();
  const int64_t tenants = std::max(planned, running);
  if (is_on && tenants > 1) {
    check.evidence = absl::StrCat("on, servers: ", tenants);
    check.findings = {
        {Severity::kWarning, "mps_with_tenants",
         absl::StrCat(
             daemon.empty() ? absl::StrCat(kMpsPipes, " is set") : daemon,
             ", servers are ", tenants,
             ": a fault of one ends all that share its device; that "
             "is for tenants that trust each other, MIG keeps others "
             "apart (`ferryctl mig-plan`)")}};
    return check;
  }
  for (const absl::Status& status :
       {facts.processes.status(), facts.environment.status(),
        facts.servers.status()}) {
    if (!status.ok()) {
      return Unknown(check, "mps_is_unknown", status);
    }
  }
  check.evidence = is_on ? absl::StrCat("on, servers: ", tenants) : "off";
  return check;
}

Check CheckUvm(const DoctorFacts& facts) {
  Check check = {.name = "/dev/nvidia-uvm"};
  if (!facts.has_uvm.ok()) {
    return Unknown(check, "uvm_is_unknown", facts.has_uvm.status());
  }
  if (absl::IsNotFound(facts.driver.status())) {
    return Nothing(check, "no driver");
  }
  check.evidence = *facts.has_uvm ? "there" : "missing";
  if (!*facts.has_uvm) {
    check.findings = {
        {OfDevices(facts), "uvm_missing",
         "/dev/nvidia-uvm is missing, which CUDA opens: run `nvidia-modprobe "
         "-c 0 -u` as root, as ferry@.service does before each start; in a "
         "container, start that with NVIDIA's container toolkit"}};
  }
  return check;
}

}  // namespace ferry::ctl
