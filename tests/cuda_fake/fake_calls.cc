// Implements Call(): counts by name, planned errors, last errors.
#include "tests/cuda_fake/fake_calls.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "tests/cuda_fake/fake_device.h"
#include "tests/cuda_fake/fake_scenario.h"

namespace ferry::cuda_fake {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

// Returns what the scenario has for this call of that name.
cudaError_t Planned(const char* name) {
  static std::mutex mutex;
  static auto& counts = *new std::map<std::string, uint64_t>;
  const std::lock_guard lock(mutex);
  const uint64_t number = ++counts[name];
  for (const PlannedError& error : FakeScenario::Get().errors) {
    if (error.call == name &&
        (error.when.empty() ? error.number == number
                            : unlink(error.when.c_str()) == 0)) {
      const auto code = static_cast<cudaError_t>(error.code);
      if (error.is_sticky) {
        FakeDevice::Get().Lose(code);
      }
      return code;
    }
  }
  return cudaSuccess;
}

// Waits while the scenario lets calls of that name hang.
void Hang(const char* name) {
  for (const PlannedHang& hang : FakeScenario::Get().hangs) {
    const int file =
        hang.call == name ? open(hang.path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
      if (flock(file, LOCK_SH | LOCK_NB) != 0) {
        LogOnce(std::string("hang of ") + name);
        flock(file, LOCK_SH);
      }
      close(file);
    }
  }
}

}  // namespace

cudaError_t Told(cudaError_t error) {
  if (error != cudaSuccess &&
      (error != cudaErrorNotReady || FakeScenario::Get().records_not_ready)) {
    last_error = error;
  }
  return error;
}

cudaError_t LastError(bool forget) {
  const cudaError_t lost = FakeDevice::Get().lost();
  const cudaError_t error = last_error == cudaSuccess ? lost : last_error;
  if (forget) {
    last_error = cudaSuccess;
  }
  return error;
}

cudaError_t Call(const char* name, const std::function<cudaError_t()>& body) {
  Hang(name);
  if (const cudaError_t planned = Planned(name); planned != cudaSuccess) {
    LogOnce(std::string("planned error of ") + name);
    return Told(planned);
  }
  if (const cudaError_t lost = FakeDevice::Get().lost(); lost != cudaSuccess) {
    return Told(lost);
  }
  const cudaError_t error = body();
  if (error >= cudaErrorStreamCaptureUnsupported &&
      error <= cudaErrorStreamCaptureWrongThread) {
    LogOnce(std::string("capture broken by ") + name + ": " +
            cudaGetErrorName(error));
  }
  return Told(error);
}

void LogOnce(const std::string& line) {
  static std::mutex mutex;
  static auto& told = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  const std::string& path = FakeScenario::Get().log;
  if (!path.empty() && told.insert(line).second) {
    std::ofstream(path, std::ios::app) << line << std::endl;
  }
}

}  // namespace ferry::cuda_fake

int FerryFakeStub(const char* name, int code) {
  ferry::cuda_fake::LogOnce(std::string("stub ") + name);
  return code;
}
