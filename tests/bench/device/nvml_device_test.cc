// Tests what --nvml reads from the fake libnvidia-ml.so.1, and what it refuses.
#include "bench/device/nvml_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "bench/device/device_means.h"
#include "tests/models/nvml/scenarios.h"

namespace ferry::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

absl::StatusOr<std::unique_ptr<NvmlDevice>> Open(const std::string& scenario,
                                                 const std::string& text) {
  const std::string path =
      absl::StrCat(::testing::TempDir(), "nvml_device.", getpid());
  std::ofstream(path) << scenario;
  setenv("FERRY_FAKE_NVML", path.c_str(), /*overwrite=*/1);
  auto device = NvmlDevice::Open(text, FERRY_FAKE_NVML_FILE);
  std::filesystem::remove(path);
  return device;
}

std::string ErrorOf(const std::string& scenario, const std::string& text) {
  return std::string(Open(scenario, text).status().message());
}

TEST(NvmlDeviceTest, WholeGpuByItsNumberOrUuid) {
  for (const std::string text :
       {"0", "cuda:0", "GPU-aaaaaaaa", nvml::kGpuUuid}) {
    const auto device = Open(nvml::WholeGpu(), text);
    ASSERT_TRUE(device.ok()) << device.status();
    const auto reading = (*device)->Read();
    ASSERT_TRUE(reading.has_value());
    EXPECT_EQ(reading->device.name, "NVIDIA H100");
    EXPECT_EQ(reading->device.uuid, nvml::kGpuUuid);
    EXPECT_EQ(reading->device.gpu_uuid, "");
    EXPECT_EQ(reading->device.driver_version, "580.95.05");
    EXPECT_EQ(reading->device.source, "NVML");
    EXPECT_EQ(reading->age, Duration(0));
    EXPECT_EQ(reading->values.busy_ratio, 0.5);
    EXPECT_EQ(reading->values.memory_used_bytes, 2000.0 * (1 << 20));
    EXPECT_EQ(reading->values.power_watts, 350.5);
    EXPECT_EQ(reading->values.energy_joules, 5);
    EXPECT_EQ(reading->values.sm_clock_hertz, 1980e6);
  }
}

TEST(NvmlDeviceTest, TwoReadingsAreASummary) {
  const auto device = Open(nvml::WholeGpu(), "0");
  ASSERT_TRUE(device.ok()) << device.status();
  DeviceMeans means;
  means.Add(*(*device)->Read());
  means.Add(*(*device)->Read());
  const auto summary = means.Summary();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->name, "NVIDIA H100");
  EXPECT_DOUBLE_EQ(summary->energy_j.value(), 1.5);
  EXPECT_DOUBLE_EQ(summary->memory_used_bytes.value(), 2000.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(summary->temperature_c.value(), 45);
}

TEST(NvmlDeviceTest, SliceNamesItsGpu) {
  const auto device = Open(nvml::MixedMig(), nvml::kFirstMig);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto reading = (*device)->Read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->device.name, "NVIDIA H200 MIG 1g.18gb");
  EXPECT_EQ(reading->device.gpu_uuid, nvml::kGpuUuid);
  EXPECT_TRUE(reading->device.is_slice());
  EXPECT_EQ(reading->device.driver_version, "") << "it is not told";
  EXPECT_EQ(reading->values.power_watts, 500) << "of the whole GPU";
  EXPECT_EQ(reading->values.busy_ratio, std::nullopt);
}

TEST(NvmlDeviceTest, TwoDevicesAreReadBesideEachOther) {
  auto first = Open(nvml::MixedMig(), nvml::kFirstMig);
  ASSERT_TRUE(first.ok()) << first.status();
  auto second = Open(nvml::MixedMig(), nvml::kOtherGpuUuid);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->Read()->device.uuid, nvml::kOtherGpuUuid);
  second->reset();
  EXPECT_EQ((*first)->Read()->values.power_watts, 500) << "it goes on";
}

TEST(NvmlDeviceTest, TextsThatNameNoDeviceAreRefused) {
  for (const char* text : {"", "cpu", "cuda", "-1", "1.5", "GPU-", "H100"}) {
    EXPECT_EQ(ErrorOf(nvml::WholeGpu(), text),
              absl::StrCat("expected the number of a GPU as nvidia-smi "
                           "counts, GPU-<uuid> or MIG-<uuid>, got '",
                           text, "'"));
  }
}

TEST(NvmlDeviceTest, DevicesThatAreNotThereAreRefusedWithoutAFlagsName) {
  EXPECT_THAT(ErrorOf(nvml::WholeGpu(), "1"),
              AllOf(StartsWith("expected a device that NVML sees, got "
                               "cuda:1; NVML sees: GPU 0 "),
                    Not(HasSubstr("--device"))));
  EXPECT_THAT(ErrorOf(nvml::MixedMig(), "0"),
              StartsWith("expected MIG-<uuid>, as MIG mode is on, got "
                         "cuda:0; NVML sees: "));
  EXPECT_THAT(ErrorOf("code call=nvmlInit_v2 code=9\n", "0"),
              AllOf(StartsWith("expected "), HasSubstr("DRIVER_NOT_LOADED")));
  EXPECT_THAT(ErrorOf("code call=nvmlDeviceGetCount_v2 code=4\n", "0"),
              HasSubstr("NO_PERMISSION"));
}

TEST(NvmlDeviceTest, LibraryThatIsNotThereIsAnError) {
  const auto device = NvmlDevice::Open("0", "libno-such-nvml.so.1");
  EXPECT_TRUE(absl::IsNotFound(device.status()));
  EXPECT_THAT(std::string(device.status().message()),
              StartsWith("expected libno-such-nvml.so.1, which comes "
                         "with NVIDIA's driver"));
}

TEST(NvmlDeviceTest, DeviceThatIsLostTellsItsNameAlone) {
  const auto device =
      Open(absl::StrCat(nvml::WholeGpu(), "lost after=40 code=15\n"), "0");
  ASSERT_TRUE(device.ok()) << device.status();
  DeviceMeans means;
  for (int i = 0; i < 40; ++i) {
    means = {};
    means.Add(*(*device)->Read());
    means.Add(*(*device)->Read());
  }
  const auto summary = means.Summary();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->name, "NVIDIA H100");
  EXPECT_FALSE(summary->utilization.has_value());
  EXPECT_FALSE(summary->power_w.has_value());
  EXPECT_FALSE(summary->memory_used_bytes.has_value());
}

}  // namespace
}  // namespace ferry::bench
