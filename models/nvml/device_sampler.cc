// Implements DeviceSampler: reads one device, and the GPU that it is part of.
#include "models/nvml/device_sampler.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ferry::nvml {
namespace {

constexpr double kPerMilli = 1e-3;
constexpr double kHertzPerMegahertz = 1e6;
constexpr double kPerPercent = 0.01;

// Returns the value in other units.
template <typename Value>
std::optional<double> Scaled(const std::optional<Value>& value, double unit) {
  return value.has_value()
             ? std::optional<double>(static_cast<double>(*value) * unit)
             : std::nullopt;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceSampler>> DeviceSampler::Create(
    const Library& library, const std::string& uuid, const Clock& clock) {
  const Symbols& nvml = library.symbols();
  const Subject subject =
      absl::StartsWith(uuid, "MIG-") ? Subject::kMig : Subject::kGpu;
  DeviceHandle device = nullptr;
  const Code code =
      library.Call(nvml.device_by_uuid, subject, uuid.c_str(), &device);
  if (code != Code::kSuccess) {
    return absl::NotFoundError(
        absl::StrCat("expected ", nvml.device_by_uuid.name, " of ", uuid,
                     " to succeed, got ", CodeName(code)));
  }
  std::optional<DeviceHandle> parent;
  if (subject == Subject::kMig) {
    parent = library.Get(nvml.parent_of_mig, subject, device).value_or(nullptr);
  }
  return std::unique_ptr<DeviceSampler>(
      new DeviceSampler(library, device, parent, clock));
}

DeviceSampler::DeviceSampler(const Library& library, DeviceHandle device,
                             std::optional<DeviceHandle> parent,
                             const Clock& clock)
    : library_(library),
      device_(device),
      subject_(parent.has_value() ? Subject::kMig : Subject::kGpu),
      gpu_(parent.value_or(device)),
      gpu_uuid_(
          gpu_ == nullptr
              ? ""
              : library.GetText(library.symbols().uuid, Subject::kGpu, gpu_)
                    .value_or("")),
      gpm_(library, device, subject_, gpu_, clock) {}

void DeviceSampler::ReadMemory(DeviceReadings& out) const {
  const Symbols& nvml = library_.symbols();
  MemoryV2 memory{};
  memory.version = StructVersion(sizeof(memory), 2);
  if (library_.Call(nvml.memory_v2, subject_, device_, &memory) ==
      Code::kSuccess) {
    out.memory_total_bytes = static_cast<double>(memory.total_bytes);
    out.memory_used_bytes = static_cast<double>(memory.used_bytes);
    out.memory_reserved_bytes = static_cast<double>(memory.reserved_bytes);
    return;
  }
  if (const auto old = library_.Get(nvml.memory, subject_, device_)) {
    out.memory_total_bytes = static_cast<double>(old->total_bytes);
    out.memory_used_bytes = static_cast<double>(old->used_bytes);
  }
}

void DeviceSampler::ReadTemperature(DeviceReadings& out) const {
  const Symbols& nvml = library_.symbols();
  Temperature temperature{};
  temperature.version = StructVersion(sizeof(temperature), 1);
  temperature.sensor = TemperatureSensor::kGpu;
  if (library_.Call(nvml.temperature, Subject::kGpu, gpu_, &temperature) ==
      Code::kSuccess) {
    out.temperature_celsius = temperature.celsius;
    return;
  }
  uint32_t celsius = 0;
  if (library_.Call(nvml.old_temperature, Subject::kGpu, gpu_,
                    TemperatureSensor::kGpu, &celsius) == Code::kSuccess) {
    out.temperature_celsius = celsius;
  }
}

std::optional<double> DeviceSampler::ReadClock(ClockType type) const {
  uint32_t megahertz = 0;
  return library_.Call(library_.symbols().clock_mhz, Subject::kGpu, gpu_, type,
                       &megahertz) == Code::kSuccess
             ? std::optional<double>(megahertz * kHertzPerMegahertz)
             : std::nullopt;
}

void DeviceSampler::ReadGpu(DeviceReadings& out) const {
  const Symbols& nvml = library_.symbols();
  const auto read = [this](const auto& function, double unit) {
    return Scaled(library_.Get(function, Subject::kGpu, gpu_), unit);
  };
  out.power_watts = read(nvml.power_mw, kPerMilli);
  out.power_limit_watts = read(nvml.power_limit_mw, kPerMilli);
  out.energy_joules = read(nvml.energy_mj, kPerMilli);
  ReadTemperature(out);
  out.sm_clock_hertz = ReadClock(ClockType::kSm);
  out.memory_clock_hertz = ReadClock(ClockType::kMemory);
  if (subject_ == Subject::kMig) {
    return;
  }
  if (const auto use = library_.Get(nvml.utilization, Subject::kGpu, gpu_)) {
    out.busy_ratio = use->gpu_percent * kPerPercent;
    out.memory_busy_ratio = use->memory_percent * kPerPercent;
  }
}

DeviceReadings DeviceSampler::Read() {
  MutexLock lock(mutex_);
  DeviceReadings readings;
  ReadMemory(readings);
  if (gpu_ != nullptr) {
    ReadGpu(readings);
  }
  readings.gpm = gpm_.Read();
  return readings;
}

}  // namespace ferry::nvml
