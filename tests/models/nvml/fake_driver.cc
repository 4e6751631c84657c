// Implements FakeDriver: says of each call what the scenario says.
#include "tests/models/nvml/fake_driver.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>

namespace ferry::nvml {
namespace {

bool Applies(const FakeCode& code, const char* call, const FakeDevice* device) {
  if (code.call != call) {
    return false;
  }
  if (device == nullptr) {
    return !code.gpu.has_value() && code.of.empty();
  }
  const FakeDevice& gpu = device->is_mig() ? *device->gpu : *device;
  return code.gpu.value_or(gpu.index) == gpu.index &&
         (code.of.empty() || (code.of == "mig") == device->is_mig());
}

// Returns once nothing else has the lock of that file, at once without one.
void AwaitLock(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    flock(file, LOCK_SH);
    close(file);
  }
}

}  // namespace

FakeDriver& Driver() {
  static FakeDriver driver;
  return driver;
}

Code Begin(const char* call, const FakeDevice* device) {
  FakeDriver& driver = Driver();
  if (!driver.scenario.has_value()) {
    return Code::kUninitialized;
  }
  const FakeScenario& scenario = *driver.scenario;
  AwaitLock(scenario.hang_while);
  if (++driver.calls > scenario.lost_after.value_or(SIZE_MAX)) {
    return static_cast<Code>(scenario.lost_code);
  }
  for (const FakeCode& code : scenario.codes) {
    if (Applies(code, call, device)) {
      return static_cast<Code>(code.code);
    }
  }
  return Code::kSuccess;
}

Code Copy(const std::string& text, char* out, uint32_t size) {
  if (text.size() + 1 > size) {
    return Code::kInsufficientSize;
  }
  std::memcpy(out, text.c_str(), text.size() + 1);
  return Code::kSuccess;
}

Code CopyText(const char* call, DeviceHandle handle, const char* name,
              char* out, uint32_t size) {
  std::lock_guard lock(Driver().mutex);
  const Code code = Begin(call, ToDevice(handle));
  return code == Code::kSuccess ? Copy(ToDevice(handle)->Text(name), out, size)
                                : code;
}

Code ReadNumber(const char* call, DeviceHandle handle, const char* name,
                uint32_t* out) {
  std::lock_guard lock(Driver().mutex);
  const FakeDevice& device = *ToDevice(handle);
  const Code code = Begin(call, &device);
  const std::optional<uint64_t> number = device.Number(name);
  if (code == Code::kSuccess && number.has_value()) {
    *out = static_cast<uint32_t>(*number);
  }
  return code != Code::kSuccess ? code
         : number.has_value()   ? code
                                : Code::kInvalidArgument;
}

}  // namespace ferry::nvml
