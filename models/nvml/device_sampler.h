// DeviceSampler reads what changes with time of one device: memory, power,
// temperature, clocks, and GPM's counters.
//
// A MIG device has the memory and GPM's counters of its GPU instance, which
// compute instances of it share. Power, energy, temperature and clocks
// exist of the whole GPU only, and are those of the GPU that it is part of: a
// share of them for one slice would be invented. NVML has no utilization where
// MIG is on; GPM has.
//
// Thread safety: thread-safe.
// Invariants:
// 1. What cannot be read now is absent, never 0 and never an older value.
// 2. GPM's counters are means over the time between two reads at least 100 ms
//    apart, as NVML wants it; reads in between see those of the last such pair.
// Errors: of Create(): NOT_FOUND where NVML gives no handle for the UUID.
#ifndef FERRY_MODELS_NVML_DEVICE_SAMPLER_H_
#define FERRY_MODELS_NVML_DEVICE_SAMPLER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "models/nvml/gpm_sampler.h"
#include "models/nvml/library.h"

namespace ferry::nvml {

struct DeviceReadings {
  // The device's own. Used: without what is reserved, where both are told.
  std::optional<double> memory_total_bytes;
  std::optional<double> memory_used_bytes;
  std::optional<double> memory_reserved_bytes;
  GpmReadings gpm;

  // The whole GPU's.
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<double> energy_joules;  // since the driver was loaded
  std::optional<double> temperature_celsius;
  std::optional<double> sm_clock_hertz;
  std::optional<double> memory_clock_hertz;

  // A GPU without MIG has them: shares of the time in which a kernel ran, and
  // in which memory was accessed.
  std::optional<double> busy_ratio;
  std::optional<double> memory_busy_ratio;

  // Returns the share of the time in which the device had work: NVML's, or
  // GPM's, which slices have, too.
  const std::optional<double>& utilization() const {
    return busy_ratio.has_value() ? busy_ratio : gpm.graphics_ratio;
  }
};

class DeviceSampler {
 public:
  // `uuid` is whole. Library and clock outlive it.
  static absl::StatusOr<std::unique_ptr<DeviceSampler>> Create(
      const Library& library, const std::string& uuid,
      const Clock& clock = Clock::Steady());

  DeviceReadings Read();

  // The whole GPU's; empty where it is not told.
  const std::string& gpu_uuid() const { return gpu_uuid_; }

 private:
  DeviceSampler(const Library& library, DeviceHandle device,
                std::optional<DeviceHandle> parent, const Clock& clock);

  void ReadMemory(DeviceReadings& out) const;
  void ReadGpu(DeviceReadings& out) const;
  void ReadTemperature(DeviceReadings& out) const;
  std::optional<double> ReadClock(ClockType type) const;

  const Library& library_;
  const DeviceHandle device_;
  const Subject subject_;
  const DeviceHandle gpu_;  // null: a MIG device whose GPU is not told
  const std::string gpu_uuid_;
  Mutex mutex_;
  GpmSampler gpm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_DEVICE_SAMPLER_H_
