// Tests that each form of --device is read, and other texts are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/nvml/device_choice.h"

namespace ferry::nvml {
namespace {

using Kind = DeviceSelector::Kind;
using ::testing::HasSubstr;

TEST(ParseDeviceTest, EachFormIsRead) {
  EXPECT_EQ(ParseDevice("cpu")->kind, Kind::kCpu);
  EXPECT_EQ(ParseDevice("only")->kind, Kind::kOnly);
  EXPECT_EQ(ParseDevice("cuda:0")->kind, Kind::kCudaIndex);
  EXPECT_EQ(ParseDevice("cuda:12")->index, 12U);
  const absl::StatusOr<DeviceSelector> gpu = ParseDevice("GPU-8a1f-22");
  EXPECT_EQ(gpu->kind, Kind::kGpuUuid);
  EXPECT_EQ(gpu->uuid, "GPU-8a1f-22");
  const absl::StatusOr<DeviceSelector> mig =
      ParseDevice("MIG-11111111-aaaa-BBBB-cccc-dddddddddddd");
  EXPECT_EQ(mig->kind, Kind::kMigUuid);
  EXPECT_EQ(mig->uuid, "MIG-11111111-aaaa-BBBB-cccc-dddddddddddd");
}

TEST(ParseDeviceTest, OtherTextsSayWhatIsExpected) {
  for (const char* text :
       {"",        "CPU",
        "only:0",  "cuda",
        "cuda:",   "cuda:-1",
        "cuda:+1", "cuda: 1",
        "cuda:1x", "cuda:4294967296",
        "0",       "GPU-",
        "GPU--",   "MIG-",
        "MIG-xyz", "gpu-1",
        "GPU-1/2", "MIG-1,MIG-2",
        " GPU-1",  "GPU-0000000000000000000000000000000000000"}) {
    const absl::Status status = ParseDevice(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(
        status.message(),
        HasSubstr("expected cpu, only, cuda:N, GPU-<uuid> or MIG-<uuid>"))
        << text;
    EXPECT_THAT(status.message(), HasSubstr("got '" + std::string(text) + "'"));
  }
}

TEST(ParseDeviceTest, OldNamesOfMigDevicesAreExplained) {
  const absl::Status status = ParseDevice("MIG-GPU-8a1f/7/0").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("nvidia-smi -L"));
}

}  // namespace
}  // namespace ferry::nvml
