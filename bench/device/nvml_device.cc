// Implements NvmlDevice: finds the device that a string names, and reads it.
#include "bench/device/nvml_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "models/nvml/device_choice.h"

namespace ferry::bench {
namespace {

// The message of what is called --device of a server.
absl::Status WithoutFlag(const absl::Status& status) {
  absl::string_view message = status.message();
  absl::ConsumePrefix(&message, "--device: ");
  return absl::Status(status.code(), message);
}

absl::StatusOr<nvml::DeviceSelector> Parse(const std::string& text) {
  const bool is_number =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      });
  auto selector = nvml::ParseDevice(is_number ? "cuda:" + text : text);
  if (!selector.ok() || selector->kind == nvml::DeviceSelector::Kind::kCpu) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected the number of a GPU as nvidia-smi counts, GPU-<uuid> or "
        "MIG-<uuid>, got '",
        text, "'"));
  }
  return selector;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NvmlDevice>> NvmlDevice::Open(
    const std::string& text, const std::string& library) {
  const auto selector = Parse(text);
  if (!selector.ok()) {
    return selector.status();
  }
  auto opened = nvml::Library::Open(library);
  if (!opened.ok()) {
    return WithoutFlag(opened.status());
  }
  const auto devices = nvml::ListDevices(**opened);
  if (!devices.ok()) {
    return WithoutFlag(devices.status());
  }
  const auto choice = nvml::Choose(*selector, *devices);
  if (!choice.ok()) {
    return WithoutFlag(choice.status());
  }
  auto sampler = nvml::DeviceSampler::Create(**opened, choice->uuid);
  if (!sampler.ok()) {
    return WithoutFlag(sampler.status());
  }
  DeviceIdentity device = {
      .name = choice->name,
      .uuid = choice->uuid,
      .gpu_uuid = choice->parent_uuid,
      .driver_version = (*opened)->DriverVersion().value_or(""),
      .source = "NVML"};
  return std::unique_ptr<NvmlDevice>(new NvmlDevice(
      *std::move(opened), std::move(device), *std::move(sampler)));
}

NvmlDevice::NvmlDevice(std::unique_ptr<nvml::Library> library,
                       DeviceIdentity device,
                       std::unique_ptr<nvml::DeviceSampler> sampler)
    : library_(std::move(library)),
      device_(std::move(device)),
      sampler_(std::move(sampler)) {}

std::optional<DeviceReading> NvmlDevice::Read() {
  DeviceReading reading;
  reading.device = device_;
  reading.values = sampler_->Read();
  reading.at = Clock::Steady().Now();
  return reading;
}

}  // namespace ferry::bench
