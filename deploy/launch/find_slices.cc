// Implements FindSlices: takes slices from the flags, or asks NVML.
#include "deploy/launch/find_slices.h"

#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "models/nvml/devices.h"
#include "models/nvml/library.h"
#include "models/nvml/numa_node.h"

namespace ferry::launch {
namespace {

constexpr char kByHand[] =
    "--slices UUID,.. (ferry-nvml and nvidia-smi -L print them) or --servers N "
    "for the CPU";

Slice OfGpu(const nvml::Gpu& gpu) {
  return {.uuid = gpu.uuid,
          .memory_bytes = static_cast<int64_t>(gpu.memory_bytes.value_or(0)),
          .numa_node = nvml::NumaNode(gpu.pci_bus_id).value_or(-1)};
}

Slice OfMigDevice(const nvml::Gpu& gpu, const nvml::MigDevice& device) {
  return {.uuid = device.uuid,
          .profile = device.profile,
          .memory_bytes = static_cast<int64_t>(device.memory_bytes.value_or(0)),
          .numa_node = nvml::NumaNode(gpu.pci_bus_id).value_or(-1)};
}

}  // namespace

std::vector<Slice> SlicesOf(const nvml::Devices& devices) {
  std::vector<Slice> slices;
  for (const nvml::Gpu& gpu : devices.gpus) {
    if (!gpu.is_mig_on.value_or(false) && !gpu.is_mig_unread) {
      slices.push_back(OfGpu(gpu));
    }
    for (const nvml::MigDevice& device : gpu.mig_devices) {
      slices.push_back(OfMigDevice(gpu, device));
    }
  }
  return slices;
}

std::vector<std::string> LeftOut(const nvml::Devices& devices) {
  std::vector<std::string> left_out;
  for (const nvml::UnreadGpu& gpu : devices.unread) {
    left_out.push_back(absl::StrCat("GPU ", gpu.index, " cannot be looked at, ",
                                    nvml::CodeName(gpu.code), ": no server"));
  }
  for (const nvml::Gpu& gpu : devices.gpus) {
    if (gpu.is_mig_unread) {
      left_out.push_back(absl::StrCat(
          gpu.uuid, " does not tell whether MIG is on: no server"));
    } else if (gpu.mig_devices_unread.has_value()) {
      left_out.push_back(absl::StrCat(
          gpu.uuid, " has MIG devices that cannot be looked at, ",
          nvml::CodeName(*gpu.mig_devices_unread), ": no server on those"));
    } else if (gpu.is_mig_on.value_or(false) && gpu.mig_devices.empty()) {
      left_out.push_back(
          absl::StrCat(gpu.uuid, " has MIG on and no MIG device: no server"));
    }
  }
  return left_out;
}

absl::StatusOr<std::vector<Slice>> FindSlices(const LaunchOptions& options) {
  std::vector<Slice> slices(static_cast<size_t>(options.cpu_servers));
  for (const std::string& uuid : options.slice_uuids) {
    slices.push_back({.uuid = uuid});
  }
  if (!slices.empty()) {
    return slices;
  }
  if (options.visible_devices.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "CUDA_VISIBLE_DEVICES is set, to '", *options.visible_devices,
        "': expected --slices with what this launch may take"));
  }
  const auto library = nvml::Library::Open();
  if (!library.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        library.status().message(), "; without it, expected ", kByHand));
  }
  const auto devices = nvml::ListDevices(**library);
  if (!devices.ok()) {
    return absl::FailedPreconditionError(devices.status().message());
  }
  slices = SlicesOf(*devices);
  // A GPU that gets no server is no secret.
  for (const std::string& left_out : LeftOut(*devices)) {
    std::fprintf(stderr, "ferry-launch: %s\n", left_out.c_str());
  }
  if (slices.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected a GPU without MIG, or a MIG device, NVML sees: ",
                     nvml::Describe(*devices), "; else give ", kByHand));
  }
  return slices;
}

}  // namespace ferry::launch
