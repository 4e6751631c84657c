// Implements ClaimDevice and StartCuda, and compares CUDA with what NVML sees.
#include "models/start_cuda.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry {

absl::StatusOr<std::unique_ptr<Device>> ClaimDevice(
    const nvml::DeviceSelector& selector,
    const std::optional<std::string>& visible) {
  if (selector.kind == nvml::DeviceSelector::Kind::kCpu) {
    return nullptr;
  }
  auto device = Device::Open(selector, visible);
  if (!device.ok()) {
    return device;
  }
  spdlog::info("device {}", (*device)->Describe());
  for (const std::string& warning : (*device)->choice().warnings) {
    spdlog::warn("device: {}", warning);
  }
  if (absl::Status status = (*device)->Claim(); !status.ok()) {
    spdlog::warn("device: threads run on any node: {}",
                 std::string(status.message()));
  }
  return device;
}

absl::StatusOr<OpenedCuda> StartCuda(Device& device,
                                     const std::string& library) {
  const nvml::DeviceChoice& choice = device.choice();
  const double share = 1.0 / static_cast<double>(choice.memory_sharers);
  absl::StatusOr<OpenedCuda> opened = OpenCuda(share, library);
  if (!opened.ok()) {
    return absl::Status(opened.status().code(),
                        absl::StrCat("--device: ", opened.status().message()));
  }
  const absl::StatusOr<nvml::Devices> devices =
      nvml::ListDevices(device.library());
  if (!devices.ok()) {
    return devices.status();
  }
  if (absl::Status status = nvml::CheckVisible(choice, opened->uuids, *devices);
      !status.ok()) {
    return status;
  }
  if (device.LearnMultiprocessors(opened->multiprocessors)) {
    spdlog::info("device uuid={} multiprocessors={}", choice.uuid,
                 opened->multiprocessors);
  }
  spdlog::info("cuda {} memory_share={:.3f}", opened->description, share);
  return opened;
}

}  // namespace ferry
