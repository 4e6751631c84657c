// Implements the fake's memory, power, temperature, clocks and GPM.
#include <memory>
#include <string>

#include "models/nvml/abi.h"
#include "tests/models/nvml/fake_driver.h"
#include "tests/models/nvml/fake_fits.h"

namespace ferry::nvml {
namespace {

Code TakeSample(FakeDevice& device, GpmSampleHandle handle) {
  const FakeDevice& gpu = device.is_mig() ? *device.gpu : device;
  if (gpu.Text("gpm") != "yes") {
    return Code::kNotSupported;
  }
  FakeSample& sample = *ToSample(handle);
  sample.device = &device;
  sample.number = ++device.samples_taken;
  return Code::kSuccess;
}

}  // namespace
}  // namespace ferry::nvml

using ferry::nvml::ClockType;
using ferry::nvml::Code;
using ferry::nvml::DeviceHandle;
using ferry::nvml::FakeDevice;
using ferry::nvml::FakeSample;
using ferry::nvml::GpmMetricsGet;
using ferry::nvml::GpmSampleHandle;
using ferry::nvml::GpmSupport;
using ferry::nvml::Memory;
using ferry::nvml::MemoryV2;
using ferry::nvml::Temperature;
using ferry::nvml::TemperatureSensor;
using ferry::nvml::Utilization;
namespace fake = ferry::nvml;

extern "C" {

Code nvmlDeviceGetMemoryInfo_v2(DeviceHandle handle, MemoryV2* out) {
  std::lock_guard lock(fake::Driver().mutex);
  FakeDevice& device = *fake::ToDevice(handle);
  const Code code = fake::Begin("nvmlDeviceGetMemoryInfo_v2", &device);
  if (code != Code::kSuccess) {
    return code;
  }
  if (out->version != fake::StructVersion(sizeof(MemoryV2), 2)) {
    return Code::kArgumentVersionMismatch;
  }
  out->total_bytes = device.Number("memory_mib").value_or(0) * fake::kMib;
  out->reserved_bytes = device.Number("reserved_mib").value_or(0) * fake::kMib;
  out->used_bytes =
      static_cast<uint64_t>(device.Next("used_mib").value_or(0)) * fake::kMib;
  out->free_bytes = out->total_bytes - out->reserved_bytes - out->used_bytes;
  return Code::kSuccess;
}

Code nvmlDeviceGetMemoryInfo(DeviceHandle handle, Memory* out) {
  std::lock_guard lock(fake::Driver().mutex);
  FakeDevice& device = *fake::ToDevice(handle);
  const Code code = fake::Begin("nvmlDeviceGetMemoryInfo", &device);
  if (code != Code::kSuccess) {
    return code;
  }
  out->total_bytes = device.Number("memory_mib").value_or(0) * fake::kMib;
  out->used_bytes =
      static_cast<uint64_t>(device.Next("used_mib").value_or(0)) * fake::kMib;
  out->free_bytes = out->total_bytes - out->used_bytes;
  return Code::kSuccess;
}

Code nvmlDeviceGetPowerUsage(DeviceHandle gpu, uint32_t* milliwatts) {
  return fake::Read("nvmlDeviceGetPowerUsage", gpu, "power_mw", milliwatts);
}

Code nvmlDeviceGetEnforcedPowerLimit(DeviceHandle gpu, uint32_t* milliwatts) {
  return fake::Read("nvmlDeviceGetEnforcedPowerLimit", gpu, "limit_mw",
                    milliwatts);
}

Code nvmlDeviceGetTotalEnergyConsumption(DeviceHandle gpu,
                                         uint64_t* millijoules) {
  return fake::Read("nvmlDeviceGetTotalEnergyConsumption", gpu, "energy_mj",
                    millijoules);
}

Code nvmlDeviceGetTemperatureV(DeviceHandle gpu, Temperature* out) {
  if (out->version != fake::StructVersion(sizeof(Temperature), 1)) {
    return Code::kArgumentVersionMismatch;
  }
  return fake::Read("nvmlDeviceGetTemperatureV", gpu, "celsius", &out->celsius);
}

Code nvmlDeviceGetTemperature(DeviceHandle gpu, TemperatureSensor,
                              uint32_t* celsius) {
  return fake::Read("nvmlDeviceGetTemperature", gpu, "celsius", celsius);
}

Code nvmlDeviceGetClockInfo(DeviceHandle gpu, ClockType type, uint32_t* mhz) {
  return fake::Read("nvmlDeviceGetClockInfo", gpu,
                    type == ClockType::kMemory ? "memory_mhz" : "sm_mhz", mhz);
}

Code nvmlDeviceGetUtilizationRates(DeviceHandle gpu, Utilization* out) {
  if (fake::ToDevice(gpu)->Text("mig") == "on") {
    return Code::kNotSupported;
  }
  const Code code = fake::Read("nvmlDeviceGetUtilizationRates", gpu, "busy",
                               &out->gpu_percent);
  return code == Code::kSuccess
             ? fake::Read("nvmlDeviceGetUtilizationRates", gpu, "memory_busy",
                          &out->memory_percent)
             : code;
}

Code nvmlGpmQueryDeviceSupport(DeviceHandle handle, GpmSupport* out) {
  std::lock_guard lock(fake::Driver().mutex);
  const FakeDevice& gpu = *fake::ToDevice(handle);
  const Code code = fake::Begin("nvmlGpmQueryDeviceSupport", &gpu);
  if (code == Code::kSuccess && out->version != fake::kGpmSupportVersion) {
    return Code::kArgumentVersionMismatch;
  }
  out->is_supported = gpu.Text("gpm") == "yes" ? 1 : 0;
  return code;
}

Code nvmlGpmSampleAlloc(GpmSampleHandle* out) {
  fake::FakeDriver& driver = fake::Driver();
  std::lock_guard lock(driver.mutex);
  const Code code = fake::Begin("nvmlGpmSampleAlloc");
  if (code == Code::kSuccess) {
    const auto added = driver.samples.insert(std::make_unique<FakeSample>());
    *out = reinterpret_cast<GpmSampleHandle>(added.first->get());
  }
  return code;
}

Code nvmlGpmSampleFree(GpmSampleHandle handle) {
  fake::FakeDriver& driver = fake::Driver();
  std::lock_guard lock(driver.mutex);
  for (auto sample = driver.samples.begin(); sample != driver.samples.end();
       ++sample) {
    if (sample->get() == fake::ToSample(handle)) {
      driver.samples.erase(sample);
      return Code::kSuccess;
    }
  }
  return Code::kInvalidArgument;
}

Code nvmlGpmSampleGet(DeviceHandle handle, GpmSampleHandle sample) {
  std::lock_guard lock(fake::Driver().mutex);
  FakeDevice& device = *fake::ToDevice(handle);
  const Code code = fake::Begin("nvmlGpmSampleGet", &device);
  return code == Code::kSuccess ? fake::TakeSample(device, sample) : code;
}

Code nvmlGpmMigSampleGet(DeviceHandle handle, uint32_t gpu_instance,
                         GpmSampleHandle sample) {
  std::lock_guard lock(fake::Driver().mutex);
  FakeDevice& gpu = *fake::ToDevice(handle);
  const Code code = fake::Begin("nvmlGpmMigSampleGet", &gpu);
  if (code != Code::kSuccess) {
    return code;
  }
  for (FakeDevice& mig : fake::Driver().scenario->migs) {
    if (mig.gpu == &gpu && mig.Number("gi") == gpu_instance) {
      return fake::TakeSample(mig, sample);
    }
  }
  return Code::kInvalidArgument;
}

Code nvmlGpmMetricsGet(GpmMetricsGet* query) {
  std::lock_guard lock(fake::Driver().mutex);
  const FakeSample& older = *fake::ToSample(query->older);
  const FakeSample& newer = *fake::ToSample(query->newer);
  const Code code = fake::Begin("nvmlGpmMetricsGet", newer.device);
  if (code != Code::kSuccess) {
    return code;
  }
  if (query->version != fake::kGpmMetricsGetVersion) {
    return Code::kArgumentVersionMismatch;
  }
  if (older.device != newer.device || older.number == 0 ||
      older.number >= newer.number) {
    return Code::kInvalidArgument;
  }
  for (uint32_t i = 0; i < query->count; ++i) {
    fake::GpmMetric& metric = query->metrics[i];
    const auto found = newer.device->series.find(
        "gpm." + std::to_string(static_cast<uint32_t>(metric.id)));
    const bool is_known = found != newer.device->series.end();
    metric.code = is_known ? Code::kSuccess : Code::kNotSupported;
    // What says nothing must not be taken for a value.
    metric.value = is_known ? found->second.At(newer.number - 2) : -1;
  }
  return Code::kSuccess;
}

}  // extern "C"

namespace ferry::nvml {

static_assert(Fits<&Symbols::memory_v2>(&nvmlDeviceGetMemoryInfo_v2));
static_assert(Fits<&Symbols::memory>(&nvmlDeviceGetMemoryInfo));
static_assert(Fits<&Symbols::power_mw>(&nvmlDeviceGetPowerUsage));
static_assert(Fits<&Symbols::power_limit_mw>(&nvmlDeviceGetEnforcedPowerLimit));
static_assert(Fits<&Symbols::energy_mj>(&nvmlDeviceGetTotalEnergyConsumption));
static_assert(Fits<&Symbols::temperature>(&nvmlDeviceGetTemperatureV));
static_assert(Fits<&Symbols::old_temperature>(&nvmlDeviceGetTemperature));
static_assert(Fits<&Symbols::clock_mhz>(&nvmlDeviceGetClockInfo));
static_assert(Fits<&Symbols::utilization>(&nvmlDeviceGetUtilizationRates));
static_assert(Fits<&Symbols::gpm_support>(&nvmlGpmQueryDeviceSupport));
static_assert(Fits<&Symbols::gpm_sample_alloc>(&nvmlGpmSampleAlloc));
static_assert(Fits<&Symbols::gpm_sample_free>(&nvmlGpmSampleFree));
static_assert(Fits<&Symbols::gpm_sample>(&nvmlGpmSampleGet));
static_assert(Fits<&Symbols::gpm_mig_sample>(&nvmlGpmMigSampleGet));
static_assert(Fits<&Symbols::gpm_metrics>(&nvmlGpmMetricsGet));

}  // namespace ferry::nvml
