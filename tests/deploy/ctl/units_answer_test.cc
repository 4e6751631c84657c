// Tests the env files of devices that NVML sees.
#include "deploy/ctl/units_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

nvml::Devices Mixed() {
  nvml::MigDevice slice;
  slice.uuid = "MIG-1";
  slice.profile = "1g.18gb+me";
  slice.memory_bytes = uint64_t{16384} << 20;
  nvml::Gpu first;
  first.uuid = "GPU-1";
  first.name = "NVIDIA H200";
  first.is_mig_on = true;
  first.mig_devices = {slice};
  nvml::Gpu second;
  second.index = 1;
  second.uuid = "GPU-2";
  second.name = "NVIDIA\nH200";
  nvml::Devices devices;
  devices.gpus = {first, second};
  return devices;
}

TEST(UnitsAnswerTest, OneFileForEachSliceAndEachGpuWithoutMig) {
  const auto units = UnitsAnswer(Mixed(), {});
  ASSERT_TRUE(units.ok()) << units.status();
  ASSERT_THAT(units->files, SizeIs(2));
  EXPECT_EQ(units->files[0].name(), "1g.18gb.me-0.env");
  EXPECT_EQ(units->files[0].contents,
            "# By ferryctl units, for ferry@1g.18gb.me-0: 1g.18gb+me of NVIDIA "
            "H200, 16384 MiB.\n"
            "# What each means: deploy/systemd/slice.env.\n"
            "FERRY_DEVICE=MIG-1\n"
            "FERRY_GRPC_ADDRESS=127.0.0.1\n"
            "FERRY_GRPC_PORT=8101\n"
            "FERRY_METRICS_ADDRESS=127.0.0.1\n"
            "FERRY_METRICS_PORT=8201\n"
            "FERRY_TORCH=/opt/torch\n"
            "FERRY_MODELS=/var/lib/ferry/models\n"
            "FERRY_DRAIN_DELAY_SECS=10\n"
            "FERRY_EXIT_TIMEOUT_SECS=20\n"
            "FERRY_ARGUMENTS=\n");
  // A name of the driver's adds no line.
  EXPECT_THAT(units->files[1].contents,
              StartsWith("# By ferryctl units, for ferry@slice-1: whole of "
                         "NVIDIA H200.\n"));
  EXPECT_THAT(units->answer.artifact,
              HasSubstr("\n\n# /etc/ferry/slice-1.env\n# By ferryctl"));
}

TEST(UnitsAnswerTest, WhatIsLeftOutIsSaid) {
  nvml::Devices devices = Mixed();
  devices.unread = {{2, nvml::Code::kNoPermission}};
  devices.gpus[0].mig_devices_unread = nvml::Code::kGpuIsLost;
  const auto units = UnitsAnswer(devices, {});
  ASSERT_TRUE(units.ok()) << units.status();
  EXPECT_THAT(units->answer.artifact,
              StartsWith("# warning: GPU 2 cannot be looked at, NO_PERMISSION: "
                         "no server\n"
                         "# warning: GPU-1 has MIG devices that cannot be "
                         "looked at, GPU_IS_LOST: no server on those\n"));
}

TEST(UnitsAnswerTest, NoDeviceAndWrongPortsAreErrors) {
  const absl::Status none = UnitsAnswer({}, {}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(none.message(), HasSubstr("NVML sees: no GPU"));
  launch::PlanOptions options;
  options.grpc_port = 8200;
  const absl::Status ports = UnitsAnswer(Mixed(), options).status();
  EXPECT_EQ(ports.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ports.message(), HasSubstr("got 8200 and 8201"));
}

}  // namespace
}  // namespace ferry::ctl
