// Tests that StartCuda holds CUDA against what NVML sees, on fakes of both.
#include "models/start_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StartCudaTest : public ::testing::Test {
 protected:
  // The fake library shows GPU-a, of 132 multiprocessors.
  static std::unique_ptr<Device> Open(const std::string& uuid) {
    return OpenOf(
        "gpu uuid=" + uuid + " name=NVIDIA_H200 memory_mib=1024 mig=off\n",
        "cuda:0");
  }

  static std::unique_ptr<Device> OpenOf(const std::string& scenario,
                                        const std::string& chosen) {
    const std::string path =
        ::testing::TempDir() + "start_cuda." + std::to_string(getpid());
    std::ofstream(path) << scenario;
    setenv("FERRY_FAKE_NVML", path.c_str(), 1);
    auto device = Device::Open(*nvml::ParseDevice(chosen), std::nullopt,
                               {.nvml = FERRY_FAKE_NVML_FILE, .sysfs = "/no"});
    std::filesystem::remove(path);
    EXPECT_TRUE(device.ok()) << device.status();
    return device.ok() ? *std::move(device) : nullptr;
  }
};

TEST_F(StartCudaTest, WholeGpuLearnsItsMultiprocessors) {
  const auto device = Open("GPU-a");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->choice().multiprocessor_count, std::nullopt);
  const auto opened = StartCuda(*device, FAKE_CUDA_SAME);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->description, "all");
  EXPECT_EQ(device->choice().multiprocessor_count, 132U);
}

TEST_F(StartCudaTest, OneOfTwoComputeInstancesHasHalfOfTheMemory) {
  const auto device = OpenOf(
      "gpu uuid=GPU-1 mig=on places=7\n"
      "mig gpu=0 place=0 uuid=MIG-a gi=1 ci=0 memory_mib=1024\n"
      "mig gpu=0 place=1 uuid=MIG-b gi=1 ci=1 memory_mib=1024\n",
      "MIG-a");
  ASSERT_NE(device, nullptr);
  const auto opened = StartCuda(*device, FAKE_CUDA_SAME);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->description, "half");
}

TEST_F(StartCudaTest, OtherDeviceThanTheChosenOneTeachesNothing) {
  const auto device = Open("GPU-b");
  ASSERT_NE(device, nullptr);
  EXPECT_THAT(
      std::string(StartCuda(*device, FAKE_CUDA_SAME).status().message()),
      AllOf(HasSubstr("expected CUDA to see GPU-b"), HasSubstr("got GPU-a")));
  EXPECT_EQ(device->choice().multiprocessor_count, std::nullopt);
}

}  // namespace
}  // namespace ferry
