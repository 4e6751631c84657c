// Tests MIG profiles, bus ids and the line that lists devices.
#include <gtest/gtest.h>

#include "models/nvml/devices.h"

namespace ferry::nvml {
namespace {

constexpr uint64_t kH200 = uint64_t{143771} << 20;
constexpr uint64_t kA100 = uint64_t{40960} << 20;

DeviceAttributes Attributes(uint32_t gpu_slices, uint32_t compute_slices,
                            uint64_t memory_mib) {
  DeviceAttributes attributes{};
  attributes.gpu_instance_slice_count = gpu_slices;
  attributes.compute_instance_slice_count = compute_slices;
  attributes.memory_mib = memory_mib;
  return attributes;
}

TEST(MigProfileTest, NameOfTheDeviceSaysIt) {
  EXPECT_EQ(MigProfile("NVIDIA H200 MIG 1g.18gb", std::nullopt, std::nullopt),
            "1g.18gb");
  EXPECT_EQ(MigProfile("NVIDIA A100-SXM4-40GB MIG 1c.1g.5gb+me", std::nullopt,
                       std::nullopt),
            "1c.1g.5gb+me");
}

TEST(MigProfileTest, AttributesSayItWhereTheNameDoesNot) {
  EXPECT_EQ(MigProfile("", Attributes(1, 1, 16384), kH200), "1g.18gb");
  EXPECT_EQ(MigProfile("", Attributes(2, 2, 33792), kH200), "2g.35gb");
  EXPECT_EQ(MigProfile("", Attributes(3, 1, 71424), kH200), "1c.3g.71gb");
  EXPECT_EQ(MigProfile("", Attributes(7, 7, 142848), kH200), "7g.141gb");
  EXPECT_EQ(MigProfile("NVIDIA A100", Attributes(1, 1, 4864), kA100), "1g.5gb");
}

TEST(MigProfileTest, NothingIsMadeUp) {
  EXPECT_EQ(MigProfile("NVIDIA H200", std::nullopt, kH200), "");
  EXPECT_EQ(MigProfile("", Attributes(1, 1, 16384), std::nullopt), "");
  EXPECT_EQ(MigProfile("", Attributes(1, 1, 16384), 0), "");
}

TEST(BusIdTest, DomainHasFourDigitsWhereTheyAreEnough) {
  EXPECT_EQ(ToSysfsBusId("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(ToSysfsBusId("00000001:AB:00.0"), "0001:ab:00.0");
  EXPECT_EQ(ToSysfsBusId("00010000:1B:00.0"), "10000:1b:00.0");
  EXPECT_EQ(ToSysfsBusId("0000:1b:00.0"), "0000:1b:00.0");
  EXPECT_EQ(ToSysfsBusId(""), "");
}

TEST(DescribeTest, GpusWithAndWithoutSlicesAreListed) {
  Devices devices;
  devices.gpus.resize(2);
  devices.gpus[0].uuid = "GPU-a";
  devices.gpus[0].name = "H200";
  Gpu& parted = devices.gpus[1];
  parted.index = 1;
  parted.uuid = "GPU-b";
  parted.is_mig_on = true;
  parted.will_mig_be_on = true;
  parted.mig_devices.resize(2);
  parted.mig_devices[0].uuid = "MIG-c";
  parted.mig_devices[0].profile = "1g.18gb";
  parted.mig_devices[1].uuid = "MIG-d";
  EXPECT_EQ(Describe(devices),
            "GPU 0 GPU-a (H200); GPU 1 GPU-b (MIG on): MIG-c 1g.18gb, MIG-d");
}

}  // namespace
}  // namespace ferry::nvml
