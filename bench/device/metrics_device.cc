// Implements MetricsDevice: turns names of metrics into readings.
#include "bench/device/metrics_device.h"

#include <chrono>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "bench/device/metrics_page.h"

namespace ferry::bench {
namespace {

using Readings = nvml::DeviceReadings;
using Value = std::optional<double>;

// Triton's --metrics-interval-ms, where it is not set.
constexpr Duration kTritonInterval = std::chrono::seconds(2);

struct Metric {
  absl::string_view name;
  const char* label;  // that tells its samples apart, beside the UUID
  const char* value;  // of the label
  Value& (*field)(Readings& readings);
};

constexpr Metric kFerry[] = {
    {"ferry_device_memory_bytes", "kind", "total",
     [](Readings& to) -> Value& { return to.memory_total_bytes; }},
    {"ferry_device_memory_bytes", "kind", "used",
     [](Readings& to) -> Value& { return to.memory_used_bytes; }},
    {"ferry_device_memory_bytes", "kind", "reserved",
     [](Readings& to) -> Value& { return to.memory_reserved_bytes; }},
    {"ferry_gpm_graphics_ratio", "", "",
     [](Readings& to) -> Value& { return to.gpm.graphics_ratio; }},
    {"ferry_gpm_sm_ratio", "", "",
     [](Readings& to) -> Value& { return to.gpm.sm_ratio; }},
    {"ferry_gpm_sm_occupancy_ratio", "", "",
     [](Readings& to) -> Value& { return to.gpm.sm_occupancy_ratio; }},
    {"ferry_gpm_tensor_ratio", "", "",
     [](Readings& to) -> Value& { return to.gpm.tensor_ratio; }},
    {"ferry_gpm_hmma_ratio", "", "",
     [](Readings& to) -> Value& { return to.gpm.hmma_ratio; }},
    {"ferry_gpm_dram_ratio", "", "",
     [](Readings& to) -> Value& { return to.gpm.dram_ratio; }},
    {"ferry_gpu_power_watts", "", "",
     [](Readings& to) -> Value& { return to.power_watts; }},
    {"ferry_gpu_power_limit_watts", "", "",
     [](Readings& to) -> Value& { return to.power_limit_watts; }},
    {"ferry_gpu_energy_joules_total", "", "",
     [](Readings& to) -> Value& { return to.energy_joules; }},
    {"ferry_gpu_temperature_celsius", "", "",
     [](Readings& to) -> Value& { return to.temperature_celsius; }},
    {"ferry_gpu_clock_hertz", "domain", "sm",
     [](Readings& to) -> Value& { return to.sm_clock_hertz; }},
    {"ferry_gpu_clock_hertz", "domain", "memory",
     [](Readings& to) -> Value& { return to.memory_clock_hertz; }},
    {"ferry_gpu_busy_ratio", "", "",
     [](Readings& to) -> Value& { return to.busy_ratio; }},
    {"ferry_gpu_memory_busy_ratio", "", "",
     [](Readings& to) -> Value& { return to.memory_busy_ratio; }},
};

constexpr Metric kTriton[] = {
    {"nv_gpu_utilization", "", "",
     [](Readings& to) -> Value& { return to.busy_ratio; }},
    {"nv_gpu_memory_total_bytes", "", "",
     [](Readings& to) -> Value& { return to.memory_total_bytes; }},
    {"nv_gpu_memory_used_bytes", "", "",
     [](Readings& to) -> Value& { return to.memory_used_bytes; }},
    {"nv_gpu_power_usage", "", "",
     [](Readings& to) -> Value& { return to.power_watts; }},
    {"nv_gpu_power_limit", "", "",
     [](Readings& to) -> Value& { return to.power_limit_watts; }},
    {"nv_energy_consumption", "", "",
     [](Readings& to) -> Value& { return to.energy_joules; }},
};

void Take(const MetricSample& sample, absl::Span<const Metric> metrics,
          Readings& to) {
  if (!std::isfinite(sample.value) || sample.value < 0) {
    return;  // nothing that a device tells
  }
  for (const Metric& metric : metrics) {
    if (sample.name == metric.name &&
        (*metric.label == '\0' || sample.Label(metric.label) == metric.value)) {
      metric.field(to) = sample.value;
    }
  }
}

std::optional<DeviceReading> ParseFerry(absl::string_view page) {
  const std::vector<MetricSample> info = SamplesOf(page, "ferry_device_info");
  if (info.empty()) {
    return std::nullopt;
  }
  DeviceReading reading;
  reading.device = {.name = info[0].Label("name"),
                    .uuid = info[0].Label("uuid"),
                    .gpu_uuid = info[0].Label("parent_uuid"),
                    .driver_version = {},
                    .source = "metrics"};
  for (const char* prefix : {"ferry_device_", "ferry_gpm_", "ferry_gpu_"}) {
    for (const MetricSample& sample : SamplesOf(page, prefix)) {
      Take(sample, kFerry, reading.values);
    }
  }
  return reading;
}

// Returns sums, and of the utilization the mean, of what all GPUs tell.
Readings Joined(std::map<std::string, Readings> gpus) {
  Readings joined = gpus.begin()->second;
  gpus.erase(gpus.begin());
  for (auto& [uuid, gpu] : gpus) {
    for (const Metric& metric : kTriton) {
      Value& sum = metric.field(joined);
      const Value& one = metric.field(gpu);
      sum = sum.has_value() && one.has_value() ? Value(*sum + *one) : Value();
    }
  }
  if (joined.busy_ratio.has_value()) {
    *joined.busy_ratio /= static_cast<double>(gpus.size() + 1);
  }
  return joined;
}

std::optional<DeviceReading> ParseTriton(absl::string_view page) {
  std::map<std::string, Readings> gpus;  // by UUID
  for (const char* prefix : {"nv_gpu_", "nv_energy_"}) {
    for (const MetricSample& sample : SamplesOf(page, prefix)) {
      if (const std::string uuid = sample.Label("gpu_uuid"); !uuid.empty()) {
        Take(sample, kTriton, gpus[uuid]);
      }
    }
  }
  if (gpus.empty()) {
    return std::nullopt;
  }
  DeviceReading reading;
  reading.age = kTritonInterval;
  reading.device.source = "metrics";
  if (gpus.size() == 1) {
    reading.device.uuid = gpus.begin()->first;
  } else {
    reading.device.name = absl::StrCat(gpus.size(), " GPUs");
  }
  reading.values = Joined(std::move(gpus));
  return reading;
}

}  // namespace

std::optional<DeviceReading> ParseDevicePage(absl::string_view page) {
  auto reading = ParseFerry(page);
  return reading.has_value() ? reading : ParseTriton(page);
}

std::optional<DeviceReading> MetricsDevice::Read() {
  const absl::StatusOr<std::string> page = FetchMetrics(address_);
  auto reading = page.ok() ? ParseDevicePage(*page) : std::nullopt;
  if (reading.has_value()) {
    reading->at = Clock::Steady().Now();
  }
  return reading;
}

}  // namespace ferry::bench
