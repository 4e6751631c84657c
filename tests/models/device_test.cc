// Tests that Device is found through the fake NVML and claimed before CUDA.
#include "models/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMig[] = "MIG-11111111-aaaa-bbbb-cccc-dddddddddddd";
constexpr char kScenario[] =
    "gpu uuid=GPU-aaaaaaaa-0000-1111-2222-333333333333 name=NVIDIA_H200 "
    "bus=00000000:1B:00.0 memory_mib=143771 mig=on places=7 gpm=yes\n"
    "mig gpu=0 place=3 uuid=MIG-11111111-aaaa-bbbb-cccc-dddddddddddd "
    "name=NVIDIA_H200_MIG_1g.18gb gi=9 ci=0 sms=16 slices=1 "
    "memory_mib=16384\n";

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "device." + std::to_string(getpid());
    Write("scenario", kScenario);
    setenv("FERRY_FAKE_NVML", (root_ + "/scenario").c_str(), 1);
    unsetenv(kVisibleDevices);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  absl::StatusOr<std::unique_ptr<Device>> Open(const std::string& text) {
    return Device::Open(*nvml::ParseDevice(text), std::nullopt, sources());
  }

  DeviceSources sources() const {
    return {.nvml = FERRY_FAKE_NVML_FILE, .sysfs = root_};
  }

  std::string root_;
};

TEST_F(DeviceTest, SliceIsFoundAndDescribed) {
  Write("bus/pci/devices/0000:1b:00.0/numa_node", "1\n");
  const auto device = Open(kMig);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->choice().profile, "1g.18gb");
  EXPECT_EQ((*device)->numa_node(), 1);
  EXPECT_THAT((*device)->Describe(), HasSubstr("multiprocessors=16"));
  EXPECT_THAT((*device)->Describe(), HasSubstr("numa_node=1"));
  EXPECT_EQ((*device)->sampler().Read().memory_total_bytes,
            16384.0 * (1 << 20));
}

TEST_F(DeviceTest, MultiprocessorsThatNvmlTellsAreKept) {
  const auto device = Open(kMig);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_FALSE((*device)->LearnMultiprocessors(132));
  EXPECT_EQ((*device)->choice().multiprocessor_count, 16U);
}

TEST_F(DeviceTest, MultiprocessorsOfAWholeGpuAreLearnt) {
  Write("scenario",
        "gpu uuid=GPU-aa name=NVIDIA_H200 memory_mib=143771 mig=off\n");
  const auto device = Open("cuda:0");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_FALSE((*device)->LearnMultiprocessors(0));  // nothing was told
  EXPECT_THAT((*device)->Describe(), Not(HasSubstr("multiprocessors")));
  EXPECT_TRUE((*device)->LearnMultiprocessors(132));
  EXPECT_EQ((*device)->choice().multiprocessor_count, 132U);
  EXPECT_THAT((*device)->Describe(), HasSubstr("multiprocessors=132"));
}

TEST_F(DeviceTest, UnknownNodeIsLeftOut) {
  const auto device = Open(kMig);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->numa_node(), std::nullopt);
  EXPECT_THAT((*device)->Describe(), Not(HasSubstr("numa_node")));
}

TEST_F(DeviceTest, OnlyClaimsTheSliceOfAContainer) {
  const auto device = Open("only");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_TRUE((*device)->Claim().ok());
  EXPECT_STREQ(std::getenv(kVisibleDevices), kMig);
}

TEST_F(DeviceTest, ClaimShowsCudaNothingElse) {
  const auto device = Open("MIG-11");
  ASSERT_TRUE(device.ok()) << device.status();
  setenv(kVisibleDevices, "MIG-11", 1);
  EXPECT_TRUE((*device)->Claim().ok());
  EXPECT_STREQ(std::getenv(kVisibleDevices), kMig);
}

TEST_F(DeviceTest, ClaimBindsToTheNode) {
  std::thread([this] {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(static_cast<size_t>(last), &allowed)) {
      --last;
    }
    Write("bus/pci/devices/0000:1b:00.0/numa_node", "0\n");
    Write("devices/system/node/node0/cpulist", std::to_string(last) + "\n");
    const auto device = Open(kMig);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_TRUE((*device)->Claim().ok());
    EXPECT_EQ(sched_getcpu(), last);
  }).join();
}

TEST_F(DeviceTest, NodeWithoutAllowedProcessorsIsTold) {
  Write("bus/pci/devices/0000:1b:00.0/numa_node", "0\n");
  Write("devices/system/node/node0/cpulist", "\n");
  const auto device = Open(kMig);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->Claim().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_STREQ(std::getenv(kVisibleDevices), kMig);
}

TEST_F(DeviceTest, WhatIsWrongNamesTheFlag) {
  const auto selector = *nvml::ParseDevice(kMig);
  DeviceSources nowhere = sources();
  nowhere.nvml = "/no/such/libnvidia-ml.so.1";
  const auto missing = Device::Open(selector, std::nullopt, nowhere);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("--device: expected /no"));
  EXPECT_THAT(Open("MIG-99").status().message(), HasSubstr("--device: "));
  EXPECT_THAT(Device::Open(selector, "0", sources()).status().message(),
              HasSubstr("CUDA_VISIBLE_DEVICES"));
  Write("scenario", "code call=nvmlDeviceGetCount_v2 code=999\n");
  EXPECT_THAT(Open(kMig).status().message(), HasSubstr("--device: "));
  Write("scenario", std::string(kScenario) +
                        "code call=nvmlDeviceGetHandleByUUID code=4\n");
  EXPECT_THAT(Open(kMig).status().message(), HasSubstr("NO_PERMISSION"));
}

}  // namespace
}  // namespace ferry
