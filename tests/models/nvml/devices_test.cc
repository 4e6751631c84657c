// Tests that ListDevices finds the devices of the fake library's machines.
#include "models/nvml/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/models/nvml/scenarios.h"

namespace ferry::nvml {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Devices List(const std::string& scenario, std::set<std::string> missing = {}) {
  const auto library = StartFake(scenario, std::move(missing));
  EXPECT_TRUE(library.ok()) << library.status();
  const absl::StatusOr<Devices> devices = ListDevices(**library);
  EXPECT_TRUE(devices.ok()) << devices.status();
  return devices.value_or(Devices());
}

TEST(DevicesTest, NoGpuIsAnEmptyList) {
  const Devices devices = List("driver version=1\n");
  EXPECT_THAT(devices.gpus, IsEmpty());
  EXPECT_THAT(devices.unread, IsEmpty());
  EXPECT_EQ(Describe(devices), "no GPU");
}

TEST(DevicesTest, OneGpuHasItsFacts) {
  const Devices devices = List(WholeGpu());
  ASSERT_THAT(devices.gpus, SizeIs(1));
  const Gpu& gpu = devices.gpus[0];
  EXPECT_EQ(gpu.index, 0U);
  EXPECT_EQ(gpu.uuid, kGpuUuid);
  EXPECT_EQ(gpu.name, "NVIDIA H100");
  EXPECT_EQ(gpu.pci_bus_id, "0000:1b:00.0");
  EXPECT_EQ(gpu.memory_bytes, uint64_t{81559} << 20);
  EXPECT_EQ(gpu.is_mig_on, false);
  EXPECT_EQ(gpu.will_mig_be_on, false);
  EXPECT_THAT(gpu.mig_devices, IsEmpty());
}

TEST(DevicesTest, EightGpusKeepTheirOrder) {
  std::string scenario;
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&scenario, "gpu uuid=GPU-", i, " name=G mig=none\n");
  }
  const Devices devices = List(scenario);
  ASSERT_THAT(devices.gpus, SizeIs(8));
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(devices.gpus[i].index, i);
    EXPECT_EQ(devices.gpus[i].uuid, absl::StrCat("GPU-", i));
    EXPECT_EQ(devices.gpus[i].is_mig_on, std::nullopt);
  }
}

TEST(DevicesTest, HolesBetweenMigDevicesAreSkipped) {
  const Devices devices = List(MixedMig());
  ASSERT_THAT(devices.gpus, SizeIs(2));
  EXPECT_THAT(devices.gpus[1].mig_devices, IsEmpty());
  const std::vector<MigDevice>& migs = devices.gpus[0].mig_devices;
  ASSERT_THAT(migs, SizeIs(3));
  EXPECT_EQ(migs[0].place, 0U);
  EXPECT_EQ(migs[1].place, 2U);
  EXPECT_EQ(migs[2].place, 6U);
  EXPECT_EQ(migs[1].uuid, kSecondMig);
  EXPECT_EQ(migs[1].profile, "2g.35gb");
  EXPECT_EQ(migs[1].gpu_instance, 5U);
  EXPECT_EQ(migs[1].compute_instance, 0U);
  EXPECT_EQ(migs[1].multiprocessor_count, 32U);
  EXPECT_EQ(migs[1].memory_bytes, uint64_t{33792} << 20);
  EXPECT_EQ(migs[2].profile, "1c.3g.71gb");
}

TEST(DevicesTest, SevenSlicesOfOneProfile) {
  const Devices devices = List(SevenSlices());
  ASSERT_THAT(devices.gpus, SizeIs(1));
  ASSERT_THAT(devices.gpus[0].mig_devices, SizeIs(7));
  for (uint32_t i = 0; i < 7; ++i) {
    EXPECT_EQ(devices.gpus[0].mig_devices[i].profile, "1g.18gb");
    EXPECT_EQ(devices.gpus[0].mig_devices[i].gpu_instance, 7 + i);
  }
}

TEST(DevicesTest, PendingModeIsToldBesideTheCurrentOne) {
  const Devices devices = List(
      "gpu uuid=GPU-0 mig=off pending=on\n"
      "gpu uuid=GPU-1 mig=on pending=off places=7\n");
  ASSERT_THAT(devices.gpus, SizeIs(2));
  EXPECT_EQ(devices.gpus[0].is_mig_on, false);
  EXPECT_EQ(devices.gpus[0].will_mig_be_on, true);
  EXPECT_EQ(devices.gpus[1].is_mig_on, true);
  EXPECT_EQ(devices.gpus[1].will_mig_be_on, false);
  EXPECT_EQ(Describe(devices),
            "GPU 0 GPU-0 (MIG off, on after a reset); "
            "GPU 1 GPU-1 (MIG on, off after a reset): no MIG device");
}

TEST(DevicesTest, CountThatFailsIsAnError) {
  const auto library = StartFake("code call=nvmlDeviceGetCount_v2 code=999\n");
  ASSERT_TRUE(library.ok()) << library.status();
  const absl::Status status = ListDevices(**library).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("UNKNOWN"));
}

TEST(DevicesTest, GpuThatCannotBeReadIsListedWithItsCode) {
  const Devices devices =
      List(absl::StrCat(MixedMig(),
                        "code call=nvmlDeviceGetHandleByIndex_v2 code=15"
                        " gpu=0\n"));
  ASSERT_THAT(devices.gpus, SizeIs(1));
  EXPECT_EQ(devices.gpus[0].index, 1U);
  ASSERT_THAT(devices.unread, SizeIs(1));
  EXPECT_EQ(devices.unread[0].index, 0U);
  EXPECT_EQ(devices.unread[0].code, Code::kGpuIsLost);
  EXPECT_THAT(Describe(devices), HasSubstr("GPU 0 unread: GPU_IS_LOST"));
}

TEST(DevicesTest, MigDevicesThatCannotBeListedAreToldOf) {
  EXPECT_EQ(List(MixedMig()).gpus[0].mig_devices_unread, std::nullopt);
  for (const char* const call :
       {"nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex",
        "nvmlDeviceGetUUID"}) {
    const Devices devices = List(absl::StrCat(
        MixedMig(), "code call=", call, " code=15",
        call == std::string("nvmlDeviceGetUUID") ? " of=mig" : "", "\n"));
    ASSERT_THAT(devices.gpus, SizeIs(2)) << call;
    EXPECT_THAT(devices.gpus[0].mig_devices, IsEmpty()) << call;
    EXPECT_EQ(devices.gpus[0].mig_devices_unread, Code::kGpuIsLost) << call;
  }
}

TEST(DevicesTest, WhatIsNotPermittedIsAbsent) {
  const Devices devices =
      List(absl::StrCat(MixedMig(),
                        "code call=nvmlDeviceGetMemoryInfo_v2 code=4\n"
                        "code call=nvmlDeviceGetMemoryInfo code=4\n"
                        "code call=nvmlDeviceGetPciInfo_v3 code=4\n"
                        "code call=nvmlDeviceGetMigMode code=4 gpu=1\n"
                        "code call=nvmlDeviceGetAttributes_v2 code=4\n"
                        "code call=nvmlDeviceGetGpuInstanceId code=4\n"));
  ASSERT_THAT(devices.gpus, SizeIs(2));
  EXPECT_EQ(devices.gpus[0].memory_bytes, std::nullopt);
  EXPECT_EQ(devices.gpus[0].pci_bus_id, "");
  EXPECT_EQ(devices.gpus[1].is_mig_on, std::nullopt);
  EXPECT_TRUE(devices.gpus[1].is_mig_unread);
  ASSERT_THAT(devices.gpus[0].mig_devices, SizeIs(3));
  const MigDevice& mig = devices.gpus[0].mig_devices[0];
  EXPECT_EQ(mig.memory_bytes, std::nullopt);
  EXPECT_EQ(mig.multiprocessor_count, std::nullopt);
  EXPECT_EQ(mig.gpu_instance, std::nullopt);
  EXPECT_EQ(mig.compute_instance, 0U);
}

TEST(DevicesTest, OlderLibraryTellsMemoryByTheOlderCall) {
  const Devices devices = List(MixedMig(), {"nvmlDeviceGetMemoryInfo_v2"});
  ASSERT_THAT(devices.gpus, SizeIs(2));
  EXPECT_EQ(devices.gpus[0].memory_bytes, uint64_t{143771} << 20);
}

TEST(DevicesTest, MemoryOfASliceByItsAttributesWhereItIsNotToldOtherwise) {
  const Devices devices =
      List(absl::StrCat(MixedMig(),
                        "code call=nvmlDeviceGetMemoryInfo_v2 code=4 of=mig\n"
                        "code call=nvmlDeviceGetMemoryInfo code=4 of=mig\n"));
  ASSERT_THAT(devices.gpus[0].mig_devices, SizeIs(3));
  EXPECT_EQ(devices.gpus[0].mig_devices[0].memory_bytes, uint64_t{16384} << 20);
}

TEST(DevicesTest, LibraryWithoutMigHasGpusAlone) {
  const Devices devices =
      List(MixedMig(),
           {"nvmlDeviceGetMigMode", "nvmlDeviceGetMigDeviceHandleByIndex"});
  ASSERT_THAT(devices.gpus, SizeIs(2));
  EXPECT_EQ(devices.gpus[0].is_mig_on, std::nullopt);
  EXPECT_FALSE(devices.gpus[0].is_mig_unread);
  EXPECT_THAT(devices.gpus[0].mig_devices, IsEmpty());
}

// Wherever the driver is lost, there is an answer or an error.
TEST(DevicesTest, LostDriverIsSurvivedAtEveryCall) {
  bool was_whole = false;
  for (int after = 1; after < 200 && !was_whole; ++after) {
    const auto library =
        StartFake(absl::StrCat(MixedMig(), "lost code=15 after=", after, "\n"));
    ASSERT_TRUE(library.ok()) << library.status();
    const absl::StatusOr<Devices> devices = ListDevices(**library);
    if (!devices.ok()) {
      EXPECT_EQ(after, 1);
      continue;
    }
    EXPECT_EQ(devices->gpus.size() + devices->unread.size(), 2U) << after;
    was_whole =
        devices->unread.empty() && devices->gpus[1].will_mig_be_on.has_value();
  }
  EXPECT_TRUE(was_whole);
}

}  // namespace
}  // namespace ferry::nvml
