// FakeDriver is the driver that the fake plays, and what its functions share.
//
// Thread safety: all of it under FakeDriver::mutex, which CopyText(), Read()
// and ReadNumber() take themselves.
#ifndef FERRY_TESTS_MODELS_NVML_FAKE_DRIVER_H_
#define FERRY_TESTS_MODELS_NVML_FAKE_DRIVER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "models/nvml/abi.h"
#include "tests/models/nvml/fake_scenario.h"

namespace ferry::nvml {

inline constexpr uint64_t kMib = uint64_t{1} << 20;

struct FakeSample {
  FakeDevice* device = nullptr;
  size_t number = 0;  // of those of the device, from 1; 0: not taken
};

struct FakeDriver {
  std::mutex mutex;
  std::optional<FakeScenario> scenario;  // between init and shutdown
  size_t starts = 0;                     // without their shutdown
  size_t calls = 0;
  std::set<std::unique_ptr<FakeSample>> samples;
};

FakeDriver& Driver();

inline FakeDevice* ToDevice(DeviceHandle handle) {
  return reinterpret_cast<FakeDevice*>(handle);
}

inline DeviceHandle ToHandle(FakeDevice& device) {
  return reinterpret_cast<DeviceHandle>(&device);
}

inline FakeSample* ToSample(GpmSampleHandle handle) {
  return reinterpret_cast<FakeSample*>(handle);
}

// Returns what the scenario says that the call returns, or success. REQUIRES:
// the lock is held.
Code Begin(const char* call, const FakeDevice* device = nullptr);

Code Copy(const std::string& text, char* out, uint32_t size);
Code CopyText(const char* call, DeviceHandle handle, const char* name,
              char* out, uint32_t size);
Code ReadNumber(const char* call, DeviceHandle handle, const char* name,
                uint32_t* out);

// A value of a whole GPU.
template <typename Value>
Code Read(const char* call, DeviceHandle handle, const char* series,
          Value* out) {
  std::lock_guard lock(Driver().mutex);
  FakeDevice& device = *ToDevice(handle);
  const Code code = Begin(call, &device);
  if (code != Code::kSuccess) {
    return code;
  }
  const std::optional<double> value = device.Next(series);
  if (device.is_mig() || !value.has_value()) {
    return Code::kNotSupported;
  }
  *out = static_cast<Value>(*value);
  return Code::kSuccess;
}

}  // namespace ferry::nvml

#endif  // FERRY_TESTS_MODELS_NVML_FAKE_DRIVER_H_
