// DeviceSummary holds what a device's own counters said of a measured window;
// DeviceFacts, what is known of the device before a run.
//
// Thread safety: plain values.
// Invariants: what was not told is absent, never 0.
#ifndef FERRY_BENCH_DEVICE_DEVICE_SUMMARY_H_
#define FERRY_BENCH_DEVICE_DEVICE_SUMMARY_H_

#include <optional>
#include <string>

namespace ferry::bench {

// Which device it is; each empty where it is not told.
struct DeviceIdentity {
  std::string name;
  std::string uuid;
  std::string gpu_uuid;  // of a slice: the GPU that it is part of
  std::string driver_version;
  std::string source;  // "NVML" or "metrics"

  bool is_slice() const { return !gpu_uuid.empty(); }
};

// A device before a run.
struct DeviceFacts {
  DeviceIdentity device;
  std::optional<double> memory_bytes;
  // These are the whole GPU's.
  std::optional<double> power_limit_w;
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
};

// Means over the window, of what was told. Power, energy, temperature and clock
// are the whole GPU's, also where the device is a slice of it: no source
// measures those of a slice.
struct DeviceSummary {
  std::string name = {};                         // else its UUID
  std::optional<double> utilization = {};        // time with work, [0, 1]
  std::optional<double> memory_used_bytes = {};  // by all processes
  std::optional<double> power_w = {};
  std::optional<double> energy_j = {};  // in all, no mean
  std::optional<double> temperature_c = {};
  std::optional<double> sm_clock_mhz = {};
  // By GPM (nvml::GpmReadings), [0, 1].
  std::optional<double> sm_ratio = {};
  std::optional<double> tensor_ratio = {};
  std::optional<double> dram_ratio = {};
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_DEVICE_DEVICE_SUMMARY_H_
