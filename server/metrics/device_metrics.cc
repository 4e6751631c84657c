// Implements DeviceMetrics: makes metrics from one reading of the device.
#include "server/metrics/device_metrics.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "server/metrics/metric_families.h"

namespace ferry {
namespace {

constexpr MetricName kInfo = {"ferry_device_info",
                              "1; the device that this process serves on"};
constexpr MetricName kMultiprocessors = {"ferry_device_multiprocessors",
                                         "Multiprocessors of the device"};
constexpr MetricName kMemory = {"ferry_device_memory_bytes",
                                "Memory of the device: total, used by all "
                                "processes, reserved by the driver"};
constexpr MetricName kErrors = {"ferry_nvml_errors_total",
                                "Calls of NVML that failed, by code"};

constexpr MetricName kReadingAge = {
    "ferry_device_reading_age_seconds",
    "How long ago the device was last read; past 5 s what it told is absent. "
    "It grows while a call of NVML does not return"};

constexpr MetricName kGpmGraphics = {"ferry_gpm_graphics_ratio",
                                     "Time in which the device had any work"};
constexpr MetricName kGpmSm = {"ferry_gpm_sm_ratio",
                               "Multiprocessors that were busy, SM ratio"};
constexpr MetricName kGpmOccupancy = {
    "ferry_gpm_sm_occupancy_ratio", "Warps that were active, of all that fit"};
constexpr MetricName kGpmTensor = {"ferry_gpm_tensor_ratio",
                                   "Time in tensor operations"};
constexpr MetricName kGpmHmma = {"ferry_gpm_hmma_ratio",
                                 "Time in tensor operations on 16-bit floats"};
constexpr MetricName kGpmDram = {"ferry_gpm_dram_ratio",
                                 "Memory bandwidth used, of the most there is"};
constexpr MetricName kGpmPcie = {"ferry_gpm_pcie_bytes_per_second",
                                 "PCIe traffic of the device"};

constexpr MetricName kPower = {"ferry_gpu_power_watts",
                               "Power that the whole GPU draws"};
constexpr MetricName kPowerLimit = {"ferry_gpu_power_limit_watts",
                                    "Power that the whole GPU may draw"};
constexpr MetricName kEnergy = {
    "ferry_gpu_energy_joules_total",
    "Energy of the whole GPU since its driver was loaded"};
constexpr MetricName kTemperature = {"ferry_gpu_temperature_celsius",
                                     "Temperature of the GPU"};
constexpr MetricName kClock = {"ferry_gpu_clock_hertz", "Clocks of the GPU"};
constexpr MetricName kBusy = {
    "ferry_gpu_busy_ratio",
    "Time in which a kernel ran on the GPU; none with MIG on"};
constexpr MetricName kMemoryBusy = {
    "ferry_gpu_memory_busy_ratio",
    "Time in which the GPU's memory was accessed; none with MIG on"};

MetricLabels With(MetricLabels labels, const char* name, const char* value) {
  labels.push_back({name, value});
  return labels;
}

void AddDevice(const nvml::DeviceChoice& choice,
               const nvml::DeviceReadings& readings, MetricFamilies& out) {
  out.AddGauge(kInfo,
               {{"uuid", choice.uuid},
                {"profile", choice.profile},
                {"name", choice.name},
                {"parent_uuid", choice.parent_uuid}},
               1);
  const MetricLabels device = {{"uuid", choice.uuid}};
  if (choice.multiprocessor_count.has_value()) {
    out.AddGauge(kMultiprocessors, device, *choice.multiprocessor_count);
  }
  out.AddKnownGauge(kMemory, With(device, "kind", "total"),
                    readings.memory_total_bytes);
  out.AddKnownGauge(kMemory, With(device, "kind", "used"),
                    readings.memory_used_bytes);
  out.AddKnownGauge(kMemory, With(device, "kind", "reserved"),
                    readings.memory_reserved_bytes);
  const nvml::GpmReadings& gpm = readings.gpm;
  out.AddKnownGauge(kGpmGraphics, device, gpm.graphics_ratio);
  out.AddKnownGauge(kGpmSm, device, gpm.sm_ratio);
  out.AddKnownGauge(kGpmOccupancy, device, gpm.sm_occupancy_ratio);
  out.AddKnownGauge(kGpmTensor, device, gpm.tensor_ratio);
  out.AddKnownGauge(kGpmHmma, device, gpm.hmma_ratio);
  out.AddKnownGauge(kGpmDram, device, gpm.dram_ratio);
  out.AddKnownGauge(kGpmPcie, With(device, "direction", "sent"),
                    gpm.pcie_sent_bytes_per_second);
  out.AddKnownGauge(kGpmPcie, With(device, "direction", "received"),
                    gpm.pcie_received_bytes_per_second);
}

void AddGpu(const std::string& uuid, const nvml::DeviceReadings& readings,
            MetricFamilies& out) {
  const MetricLabels gpu = {{"uuid", uuid}};
  out.AddKnownGauge(kPower, gpu, readings.power_watts);
  out.AddKnownGauge(kPowerLimit, gpu, readings.power_limit_watts);
  out.AddKnownCounter(kEnergy, gpu, readings.energy_joules);
  out.AddKnownGauge(kTemperature, gpu, readings.temperature_celsius);
  out.AddKnownGauge(kClock, With(gpu, "domain", "sm"), readings.sm_clock_hertz);
  out.AddKnownGauge(kClock, With(gpu, "domain", "memory"),
                    readings.memory_clock_hertz);
  out.AddKnownGauge(kBusy, gpu, readings.busy_ratio);
  out.AddKnownGauge(kMemoryBusy, gpu, readings.memory_busy_ratio);
}

// Whether it is the answer for an empty place among MIG devices.
bool IsHole(const nvml::Library& library, const nvml::CallCount& call) {
  return call.code == nvml::Code::kNotFound &&
         call.call == library.symbols().mig_by_index.name;
}

// What a GPU does not support counts, too: it is why a metric is absent.
void AddErrors(const nvml::Library& library, MetricFamilies& out) {
  std::map<std::pair<std::string, std::string>, uint64_t> errors;
  for (const nvml::CallCount& call : library.calls()) {
    if (call.code != nvml::Code::kSuccess && !IsHole(library, call)) {
      errors[{call.call, nvml::CodeName(call.code)}] += call.count;
    }
  }
  for (const auto& [key, count] : errors) {
    out.AddCounter(kErrors, {{"call", key.first}, {"code", key.second}},
                   static_cast<double>(count));
  }
}

}  // namespace

std::optional<nvml::DeviceReadings> DeviceMetrics::readings() const {
  const auto last = readings_.last();
  return last.has_value() && last->age <= kOldest
             ? std::optional<nvml::DeviceReadings>(last->answer)
             : std::nullopt;
}

std::vector<prometheus::MetricFamily> DeviceMetrics::Collect() const {
  MetricFamilies out(Buckets::kCommon);
  const auto last = readings_.last();
  const std::chrono::duration<double> age =
      last.has_value() ? last->age : clock_.Now() - made_;
  const nvml::DeviceReadings told = readings().value_or(nvml::DeviceReadings());
  AddDevice(choice_, told, out);
  AddGpu(choice_.gpu_uuid(), told, out);
  out.AddGauge(kReadingAge, {}, age.count());
  AddErrors(library_, out);
  return out.Take();
}

}  // namespace ferry
