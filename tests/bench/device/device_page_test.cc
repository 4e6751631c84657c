// Tests the page of a ferry-server that serves on a device, as ferry-bench
// reads it: each value arrives as NVML told it, and what was not told does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "bench/device/metrics_device.h"
#include "models/nvml/device_choice.h"
#include "server/metrics/device_metrics.h"
#include "server/metrics/metrics.h"
#include "tests/models/nvml/scenarios.h"
#include "tests/support/fake_clock.h"

namespace ferry::bench {
namespace {

class DevicePageTest : public ::testing::Test {
 protected:
  void Start(const std::string& scenario, const std::string& uuid) {
    auto library = nvml::StartFake(scenario);
    ASSERT_TRUE(library.ok()) << library.status();
    library_ = *std::move(library);
    const auto devices = nvml::ListDevices(*library_);
    ASSERT_TRUE(devices.ok()) << devices.status();
    auto choice = nvml::Choose(*nvml::ParseDevice(uuid), *devices);
    ASSERT_TRUE(choice.ok()) << choice.status();
    choice_ = *std::move(choice);
    auto sampler = nvml::DeviceSampler::Create(*library_, uuid, clock_);
    ASSERT_TRUE(sampler.ok()) << sampler.status();
    sampler_ = *std::move(sampler);
    clock_.Advance(Milliseconds(200));  // an interval for GPM
  }

  std::optional<DeviceReading> Parsed() {
    DeviceMetrics metrics(*library_, choice_,
                          [this] { return sampler_->Read(); });
    metrics.Refresh(std::chrono::seconds(20));
    return ParseDevicePage(ToPrometheusText(metrics.Collect()));
  }

  FakeClock clock_;
  std::unique_ptr<nvml::Library> library_;
  nvml::DeviceChoice choice_;
  std::unique_ptr<nvml::DeviceSampler> sampler_;
};

TEST_F(DevicePageTest, EachValueOfAGpuArrives) {
  Start(nvml::WholeGpu(), nvml::kGpuUuid);
  const auto reading = Parsed();
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->device.name, "NVIDIA H100");
  EXPECT_EQ(reading->device.uuid, nvml::kGpuUuid);
  EXPECT_FALSE(reading->device.is_slice());
  const nvml::DeviceReadings& values = reading->values;
  EXPECT_EQ(values.memory_total_bytes, 81559.0 * (1 << 20));
  EXPECT_EQ(values.memory_used_bytes, 2000.0 * (1 << 20));
  EXPECT_EQ(values.memory_reserved_bytes, 500.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(values.gpm.graphics_ratio.value(), 0.9);
  EXPECT_DOUBLE_EQ(values.gpm.sm_ratio.value(), 0.8);
  EXPECT_DOUBLE_EQ(values.gpm.sm_occupancy_ratio.value(), 0.3);
  EXPECT_DOUBLE_EQ(values.gpm.tensor_ratio.value(), 0.2);
  EXPECT_DOUBLE_EQ(values.gpm.hmma_ratio.value(), 0.15);
  EXPECT_DOUBLE_EQ(values.gpm.dram_ratio.value(), 0.6);
  EXPECT_EQ(values.power_watts, 350.5);
  EXPECT_EQ(values.power_limit_watts, 700);
  EXPECT_EQ(values.energy_joules, 5);
  EXPECT_EQ(values.temperature_celsius, 45);
  EXPECT_EQ(values.sm_clock_hertz, 1980e6);
  EXPECT_EQ(values.memory_clock_hertz, 2619e6);
  EXPECT_EQ(values.busy_ratio, 0.5);
  EXPECT_EQ(values.memory_busy_ratio, 0.25);
}

TEST_F(DevicePageTest, SliceIsKnownAsOne) {
  Start(nvml::MixedMig(), nvml::kFirstMig);
  const auto reading = Parsed();
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->device.gpu_uuid, nvml::kGpuUuid);
  EXPECT_EQ(reading->values.gpm.sm_ratio, 0.75);
  EXPECT_EQ(reading->values.power_watts, 500);
  EXPECT_EQ(reading->values.energy_joules, std::nullopt);
  EXPECT_EQ(reading->values.busy_ratio, std::nullopt);
}

}  // namespace
}  // namespace ferry::bench
