// TheDevice() and OnDevice give tests the device, and models on it.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_GPU_CUDA_TEST_H_
#define FERRY_TESTS_GPU_CUDA_TEST_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/cuda/cuda_device.h"
#include "models/torch/torch_entry.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/network_cases.h"

namespace ferry {

// One for the process.
inline CudaDevice& TheDevice() {
  static const auto device = CudaDevice::Open(/*memory_share=*/0.9);
  TORCH_CHECK(device.ok(), std::string(device.status().message()));
  return **device;
}

// Not warmed up. `device` outlives it.
inline std::unique_ptr<DeviceModel> Load(const ModelOptions& options,
                                         DeviceRuntime& device) {
  DeviceModelOrStatus model = absl::InternalError("not loaded");
  LoadReport report;
  FerryLoadDeviceModel(options, "", device, report, model);
  TORCH_CHECK(model.ok(), std::string(model.status().message()));
  return *std::move(model);
}

inline std::unique_ptr<DeviceModel> OnDevice(const ModelOptions& options) {
  std::unique_ptr<DeviceModel> model = Load(options, TheDevice());
  const absl::Status status = model->WarmUp();
  TORCH_CHECK(status.ok(), std::string(status.message()));
  return model;
}

// What it has counted of one event.
inline uint64_t Count(const std::vector<DeviceCount>& counts,
                      const std::string& event) {
  for (const DeviceCount& one : counts) {
    if (one.event == event) {
      return one.count;
    }
  }
  ADD_FAILURE() << "no count " << event;
  return 0;
}
inline uint64_t Count(const DeviceModel& model, const std::string& event) {
  return Count(model.counts(), event);
}

class CudaNetworkTest : public DeviceTest,
                        public ::testing::WithParamInterface<NetworkCase> {
 protected:
  const ModelOptions options_ = OptionsOf(GetParam().network, Precision::kBf16);
};

}  // namespace ferry

#endif  // FERRY_TESTS_GPU_CUDA_TEST_H_
