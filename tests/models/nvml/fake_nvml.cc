// This libnvidia-ml.so.1 for tests plays the scenario in the file that
// $FERRY_FAKE_NVML names, read at nvmlInit_v2. Here: start, GPUs and MIG
// devices; fake_readings.cc has what they measure.
//
// It is as strict as NVML: versions of structs are checked, power is not of MIG
// devices, utilization not of GPUs with MIG on, and samples of GPM come in
// order. As in NVML, starts are counted: the last shutdown ends it.
//
// Thread safety: thread-safe, by one lock.
#include <strings.h>

#include <cstdlib>
#include <vector>

#include "models/nvml/abi.h"
#include "tests/models/nvml/fake_driver.h"
#include "tests/models/nvml/fake_fits.h"

namespace ferry::nvml {
namespace {

// Hangs the MIG devices below their GPUs.
bool Connect(FakeScenario& scenario) {
  for (FakeDevice& mig : scenario.migs) {
    const size_t gpu = mig.Number("gpu").value_or(0);
    if (gpu >= scenario.gpus.size()) {
      return false;
    }
    mig.gpu = &scenario.gpus[gpu];
  }
  return true;
}

}  // namespace
}  // namespace ferry::nvml

using ferry::nvml::Code;
using ferry::nvml::DeviceAttributes;
using ferry::nvml::DeviceHandle;
using ferry::nvml::FakeDevice;
using ferry::nvml::PciInfo;
namespace fake = ferry::nvml;

extern "C" {
Code nvmlInit_v2() {
  fake::FakeDriver& driver = fake::Driver();
  std::lock_guard lock(driver.mutex);
  if (driver.starts > 0) {
    const Code again = fake::Begin("nvmlInit_v2");
    driver.starts += again == Code::kSuccess ? 1 : 0;
    return again;
  }
  const char* const path = std::getenv("FERRY_FAKE_NVML");
  driver.scenario = fake::FakeScenario::Read(path == nullptr ? "" : path);
  driver.calls = 0;
  if (!driver.scenario.has_value() || !fake::Connect(*driver.scenario)) {
    driver.scenario.reset();
    return Code::kUnknown;
  }
  const Code code = fake::Begin("nvmlInit_v2");
  if (code != Code::kSuccess) {
    driver.scenario.reset();
    return code;
  }
  driver.starts = 1;
  return code;
}

Code nvmlShutdown() {
  fake::FakeDriver& driver = fake::Driver();
  std::lock_guard lock(driver.mutex);
  const Code code = fake::Begin("nvmlShutdown");
  if (driver.starts > 0 && --driver.starts == 0) {
    driver.scenario.reset();
  }
  return code;
}

Code nvmlSystemGetDriverVersion(char* out, uint32_t size) {
  std::lock_guard lock(fake::Driver().mutex);
  const Code code = fake::Begin("nvmlSystemGetDriverVersion");
  return code == Code::kSuccess
             ? fake::Copy(fake::Driver().scenario->driver["version"], out, size)
             : code;
}

Code nvmlSystemGetNVMLVersion(char* out, uint32_t size) {
  std::lock_guard lock(fake::Driver().mutex);
  const Code code = fake::Begin("nvmlSystemGetNVMLVersion");
  return code == Code::kSuccess ? fake::Copy("13.fake", out, size) : code;
}

Code nvmlDeviceGetCount_v2(uint32_t* count) {
  std::lock_guard lock(fake::Driver().mutex);
  const Code code = fake::Begin("nvmlDeviceGetCount_v2");
  if (code == Code::kSuccess) {
    *count = static_cast<uint32_t>(fake::Driver().scenario->gpus.size());
  }
  return code;
}

Code nvmlDeviceGetHandleByIndex_v2(uint32_t index, DeviceHandle* out) {
  fake::FakeDriver& driver = fake::Driver();
  std::lock_guard lock(driver.mutex);
  if (!driver.scenario.has_value() || index >= driver.scenario->gpus.size()) {
    return Code::kInvalidArgument;
  }
  FakeDevice& gpu = driver.scenario->gpus[index];
  const Code code = fake::Begin("nvmlDeviceGetHandleByIndex_v2", &gpu);
  *out = fake::ToHandle(gpu);
  return code;
}

Code nvmlDeviceGetHandleByUUID(const char* uuid, DeviceHandle* out) {
  fake::FakeDriver& driver = fake::Driver();
  std::lock_guard lock(driver.mutex);
  const Code code = fake::Begin("nvmlDeviceGetHandleByUUID");
  if (code != Code::kSuccess) {
    return code;
  }
  for (std::vector<FakeDevice>* devices :
       {&driver.scenario->gpus, &driver.scenario->migs}) {
    for (FakeDevice& device : *devices) {
      if (device.Text("uuid") == uuid) {
        *out = fake::ToHandle(device);
        return Code::kSuccess;
      }
    }
  }
  return Code::kNotFound;
}

// What LibTorch asks where memory has run out, for the text of its error: no
// process is told.
Code nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, DeviceHandle* out) {
  fake::FakeDriver& driver = fake::Driver();
  std::lock_guard lock(driver.mutex);
  const Code code = fake::Begin("nvmlDeviceGetHandleByPciBusId_v2");
  if (code != Code::kSuccess) {
    return code;
  }
  for (FakeDevice& gpu : driver.scenario->gpus) {
    if (strcasecmp(gpu.Text("bus").c_str(), bus_id) == 0) {
      *out = fake::ToHandle(gpu);
      return Code::kSuccess;
    }
  }
  return Code::kNotFound;
}

Code nvmlDeviceGetComputeRunningProcesses(DeviceHandle /*device*/,
                                          uint32_t* count, void* /*out*/) {
  std::lock_guard lock(fake::Driver().mutex);
  *count = 0;
  return fake::Begin("nvmlDeviceGetComputeRunningProcesses");
}

// LibTorch looks these up with those.
Code nvmlDeviceGetGpuFabricInfoV() { return Code::kNotSupported; }
Code nvmlDeviceGetNvLinkRemoteDeviceType() { return Code::kNotSupported; }
Code nvmlDeviceGetNvLinkRemotePciInfo_v2() { return Code::kNotSupported; }
Code nvmlSystemGetCudaDriverVersion_v2() { return Code::kNotSupported; }

Code nvmlDeviceGetUUID(DeviceHandle device, char* out, uint32_t size) {
  return fake::CopyText("nvmlDeviceGetUUID", device, "uuid", out, size);
}

Code nvmlDeviceGetName(DeviceHandle device, char* out, uint32_t size) {
  return fake::CopyText("nvmlDeviceGetName", device, "name", out, size);
}

Code nvmlDeviceGetPciInfo_v3(DeviceHandle device, PciInfo* out) {
  return fake::CopyText("nvmlDeviceGetPciInfo_v3", device, "bus", out->bus_id,
                        sizeof(out->bus_id));
}

Code nvmlDeviceGetMigMode(DeviceHandle handle, uint32_t* current,
                          uint32_t* pending) {
  std::lock_guard lock(fake::Driver().mutex);
  const FakeDevice& gpu = *fake::ToDevice(handle);
  const Code code = fake::Begin("nvmlDeviceGetMigMode", &gpu);
  const std::string mode = gpu.Text("mig");
  if (code != Code::kSuccess || mode.empty() || mode == "none") {
    return code != Code::kSuccess ? code : Code::kNotSupported;
  }
  const std::string later = gpu.Text("pending");
  *current = mode == "on" ? fake::kMigEnabled : fake::kMigDisabled;
  *pending = (later.empty() ? mode : later) == "on" ? fake::kMigEnabled
                                                    : fake::kMigDisabled;
  return Code::kSuccess;
}

Code nvmlDeviceGetMaxMigDeviceCount(DeviceHandle gpu, uint32_t* count) {
  return fake::ReadNumber("nvmlDeviceGetMaxMigDeviceCount", gpu, "places",
                          count);
}

Code nvmlDeviceGetMigDeviceHandleByIndex(DeviceHandle handle, uint32_t place,
                                         DeviceHandle* out) {
  std::lock_guard lock(fake::Driver().mutex);
  FakeDevice& gpu = *fake::ToDevice(handle);
  const Code code = fake::Begin("nvmlDeviceGetMigDeviceHandleByIndex", &gpu);
  if (code != Code::kSuccess) {
    return code;
  }
  for (FakeDevice& mig : fake::Driver().scenario->migs) {
    if (mig.gpu == &gpu && mig.place == place) {
      *out = fake::ToHandle(mig);
      return Code::kSuccess;
    }
  }
  return Code::kNotFound;
}

Code nvmlDeviceGetDeviceHandleFromMigDeviceHandle(DeviceHandle handle,
                                                  DeviceHandle* out) {
  std::lock_guard lock(fake::Driver().mutex);
  FakeDevice& mig = *fake::ToDevice(handle);
  const Code code =
      fake::Begin("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &mig);
  if (code != Code::kSuccess || !mig.is_mig()) {
    return code != Code::kSuccess ? code : Code::kInvalidArgument;
  }
  *out = fake::ToHandle(*mig.gpu);
  return Code::kSuccess;
}

Code nvmlDeviceGetGpuInstanceId(DeviceHandle mig, uint32_t* id) {
  return fake::ReadNumber("nvmlDeviceGetGpuInstanceId", mig, "gi", id);
}

Code nvmlDeviceGetComputeInstanceId(DeviceHandle mig, uint32_t* id) {
  return fake::ReadNumber("nvmlDeviceGetComputeInstanceId", mig, "ci", id);
}

Code nvmlDeviceGetAttributes_v2(DeviceHandle handle, DeviceAttributes* out) {
  std::lock_guard lock(fake::Driver().mutex);
  const FakeDevice& mig = *fake::ToDevice(handle);
  const Code code = fake::Begin("nvmlDeviceGetAttributes_v2", &mig);
  if (code != Code::kSuccess || !mig.is_mig()) {
    return code != Code::kSuccess ? code : Code::kNotSupported;
  }
  const auto number = [&mig](const char* name) {
    return static_cast<uint32_t>(mig.Number(name).value_or(0));
  };
  *out = {};
  out->multiprocessor_count = number("sms");
  out->gpu_instance_slice_count = number("slices");
  out->compute_instance_slice_count = mig.Number("compute_slices").has_value()
                                          ? number("compute_slices")
                                          : number("slices");
  out->memory_mib = number("memory_mib");
  return Code::kSuccess;
}

}  // extern "C"

namespace ferry::nvml {

static_assert(Fits<&Symbols::init>(&nvmlInit_v2));
static_assert(Fits<&Symbols::shutdown>(&nvmlShutdown));
static_assert(Fits<&Symbols::driver_version>(&nvmlSystemGetDriverVersion));
static_assert(Fits<&Symbols::nvml_version>(&nvmlSystemGetNVMLVersion));
static_assert(Fits<&Symbols::device_count>(&nvmlDeviceGetCount_v2));
static_assert(Fits<&Symbols::device_by_index>(&nvmlDeviceGetHandleByIndex_v2));
static_assert(Fits<&Symbols::device_by_uuid>(&nvmlDeviceGetHandleByUUID));
static_assert(Fits<&Symbols::uuid>(&nvmlDeviceGetUUID));
static_assert(Fits<&Symbols::device_name>(&nvmlDeviceGetName));
static_assert(Fits<&Symbols::pci_info>(&nvmlDeviceGetPciInfo_v3));
static_assert(Fits<&Symbols::mig_mode>(&nvmlDeviceGetMigMode));
static_assert(Fits<&Symbols::max_mig_devices>(&nvmlDeviceGetMaxMigDeviceCount));
static_assert(
    Fits<&Symbols::mig_by_index>(&nvmlDeviceGetMigDeviceHandleByIndex));
static_assert(Fits<&Symbols::parent_of_mig>(
    &nvmlDeviceGetDeviceHandleFromMigDeviceHandle));
static_assert(Fits<&Symbols::gpu_instance>(&nvmlDeviceGetGpuInstanceId));
static_assert(
    Fits<&Symbols::compute_instance>(&nvmlDeviceGetComputeInstanceId));
static_assert(Fits<&Symbols::attributes>(&nvmlDeviceGetAttributes_v2));

}  // namespace ferry::nvml
