// Implements Device: chooses the device, and claims it.
#include "models/device.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry {

absl::StatusOr<std::unique_ptr<Device>> Device::Open(
    const nvml::DeviceSelector& selector,
    const std::optional<std::string>& visible, const DeviceSources& sources) {
  auto library = nvml::Library::Open(sources.nvml);
  if (!library.ok()) {
    return absl::Status(library.status().code(),
                        absl::StrCat("--device: ", library.status().message(),
                                     "; --device=cpu needs no driver"));
  }
  const absl::StatusOr<nvml::Devices> devices = nvml::ListDevices(**library);
  if (!devices.ok()) {
    return absl::Status(devices.status().code(),
                        absl::StrCat("--device: ", devices.status().message()));
  }
  absl::StatusOr<nvml::DeviceChoice> choice =
      nvml::Choose(selector, *devices, visible);
  if (!choice.ok()) {
    return choice.status();
  }
  auto sampler = nvml::DeviceSampler::Create(**library, choice->uuid);
  if (!sampler.ok()) {
    return absl::Status(sampler.status().code(),
                        absl::StrCat("--device: ", sampler.status().message()));
  }
  return std::unique_ptr<Device>(
      new Device(*std::move(library), *std::move(choice), *std::move(sampler),
                 sources.sysfs));
}

Device::Device(std::unique_ptr<nvml::Library> library,
               nvml::DeviceChoice choice,
               std::unique_ptr<nvml::DeviceSampler> sampler,
               const std::string& sysfs)
    : library_(std::move(library)),
      choice_(std::move(choice)),
      sampler_(std::move(sampler)),
      sysfs_(sysfs),
      numa_node_(nvml::NumaNode(choice_.pci_bus_id, sysfs_)) {}

absl::Status Device::Claim() const {
  setenv(kVisibleDevices, choice_.uuid.c_str(), /*overwrite=*/1);
  if (!numa_node_.has_value()) {
    return absl::OkStatus();
  }
  return nvml::BindThread(nvml::ProcessorsOfNode(*numa_node_, sysfs_));
}

bool Device::LearnMultiprocessors(int count) {
  if (choice_.multiprocessor_count.has_value() || count <= 0) {
    return false;
  }
  choice_.multiprocessor_count = static_cast<uint32_t>(count);
  return true;
}

std::string Device::Describe() const {
  std::string text = nvml::Describe(choice_);
  if (numa_node_.has_value()) {
    absl::StrAppend(&text, " numa_node=", *numa_node_);
  }
  return text;
}

}  // namespace ferry
