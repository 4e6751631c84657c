// Tests that CUDA shows the device that NVML shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "models/nvml/device_choice.h"
#include "models/nvml/devices.h"
#include "models/nvml/library.h"
#include "tests/gpu/cuda_test.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

class CudaDeviceTest : public DeviceTest {};

// Without GPU- or MIG- before it, as CUDA tells it.
std::string Digits(const std::string& uuid) {
  return uuid.substr(uuid.find('-') + 1);
}

// What CUDA can show: slices of GPUs with MIG, the others as a whole.
std::vector<std::string> AllDigits(const nvml::Devices& devices) {
  std::vector<std::string> digits;
  for (const nvml::Gpu& gpu : devices.gpus) {
    if (!gpu.is_mig_on.value_or(false)) {
      digits.push_back(Digits(gpu.uuid));
    }
    for (const nvml::MigDevice& slice : gpu.mig_devices) {
      digits.push_back(Digits(slice.uuid));
    }
  }
  return digits;
}

TEST_F(CudaDeviceTest, IsTheOneThatNvmlShows) {
  const auto library = nvml::Library::Open();
  ASSERT_TRUE(library.ok()) << library.status();
  const auto devices = nvml::ListDevices(**library);
  ASSERT_TRUE(devices.ok()) << devices.status();
  const std::vector<std::string>& seen = TheDevice().uuids();
  ASSERT_FALSE(seen.empty());
  EXPECT_THAT(AllDigits(*devices), IsSupersetOf(seen))
      << nvml::Describe(*devices);

  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  nvml::DeviceSelector selector;
  selector.kind = nvml::DeviceSelector::Kind::kOnly;
  const auto only = nvml::Choose(
      selector, *devices,
      visible == nullptr ? std::nullopt : std::optional<std::string>(visible));
  if (!only.ok()) {  // of several devices, or indexes
    GTEST_SKIP() << only.status();
  }
  EXPECT_THAT(seen, ElementsAre(Digits(only->uuid)));
  EXPECT_TRUE(nvml::CheckVisible(*only, seen, *devices).ok());
}

}  // namespace
}  // namespace ferry
