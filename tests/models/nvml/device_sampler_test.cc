// Tests what DeviceSampler reads, on a clock that is turned by hand.
#include "models/nvml/device_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/models/nvml/scenarios.h"
#include "tests/support/fake_clock.h"

namespace ferry::nvml {
namespace {

constexpr double kMib = 1 << 20;

class DeviceSamplerTest : public ::testing::Test {
 protected:
  void Start(const std::string& scenario, const std::string& uuid,
             std::set<std::string> missing = {}) {
    sampler_.reset();
    library_.reset();  // the fake has one scenario at a time
    auto library = StartFake(scenario, std::move(missing));
    ASSERT_TRUE(library.ok()) << library.status();
    library_ = *std::move(library);
    auto sampler = DeviceSampler::Create(*library_, uuid, clock_);
    ASSERT_TRUE(sampler.ok()) << sampler.status();
    sampler_ = *std::move(sampler);
  }

  DeviceReadings ReadAfter(double ms) {
    clock_.Advance(Milliseconds(ms));
    return sampler_->Read();
  }

  FakeClock clock_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<DeviceSampler> sampler_;
};

TEST_F(DeviceSamplerTest, WholeGpuTellsEverything) {
  Start(WholeGpu(), kGpuUuid);
  const DeviceReadings first = sampler_->Read();
  EXPECT_EQ(first.memory_total_bytes, 81559 * kMib);
  EXPECT_EQ(first.memory_reserved_bytes, 500 * kMib);
  EXPECT_EQ(first.memory_used_bytes, 1000 * kMib);
  EXPECT_EQ(first.power_watts, 350.5);
  EXPECT_EQ(first.power_limit_watts, 700);
  EXPECT_EQ(first.energy_joules, 5);
  EXPECT_EQ(first.temperature_celsius, 45);
  EXPECT_EQ(first.sm_clock_hertz, 1980e6);
  EXPECT_EQ(first.memory_clock_hertz, 2619e6);
  EXPECT_EQ(first.busy_ratio, 0.5);
  EXPECT_EQ(first.memory_busy_ratio, 0.25);
  EXPECT_EQ(sampler_->gpu_uuid(), kGpuUuid);
  const DeviceReadings second = sampler_->Read();
  EXPECT_EQ(second.memory_used_bytes, 2000 * kMib);
  EXPECT_EQ(second.energy_joules, 6.5);
}

TEST_F(DeviceSamplerTest, GpmIsTheMeanBetweenTwoReads) {
  Start(WholeGpu(), kGpuUuid);
  EXPECT_EQ(sampler_->Read().gpm.sm_ratio, std::nullopt);  // no interval yet
  // NVML wants more than 100 ms.
  EXPECT_EQ(ReadAfter(100).gpm.sm_ratio, std::nullopt);
  const GpmReadings gpm = ReadAfter(1).gpm;
  EXPECT_DOUBLE_EQ(gpm.sm_ratio.value(), 0.8);
  EXPECT_DOUBLE_EQ(gpm.graphics_ratio.value(), 0.9);
  EXPECT_DOUBLE_EQ(gpm.sm_occupancy_ratio.value(), 0.3);
  EXPECT_DOUBLE_EQ(gpm.tensor_ratio.value(), 0.2);
  EXPECT_DOUBLE_EQ(gpm.hmma_ratio.value(), 0.15);
  EXPECT_DOUBLE_EQ(gpm.dram_ratio.value(), 0.6);
  EXPECT_EQ(gpm.pcie_sent_bytes_per_second, 100 * kMib);
  EXPECT_EQ(gpm.pcie_received_bytes_per_second, 200 * kMib);
  // Too soon: what was seen last.
  EXPECT_DOUBLE_EQ(ReadAfter(100).gpm.sm_ratio.value(), 0.8);
  EXPECT_DOUBLE_EQ(ReadAfter(1).gpm.sm_ratio.value(), 0.4);
  EXPECT_EQ(CountOf(*library_, "nvmlGpmSampleGet", Code::kSuccess), 3U);
}

TEST_F(DeviceSamplerTest, SliceHasMemoryAndGpmAndItsGpuTheRest) {
  Start(MixedMig(), kFirstMig);
  const DeviceReadings readings = ReadAfter(200);
  EXPECT_EQ(readings.memory_total_bytes, 16384 * kMib);
  EXPECT_EQ(readings.memory_used_bytes, 100 * kMib);
  EXPECT_DOUBLE_EQ(readings.gpm.sm_ratio.value(), 0.75);
  EXPECT_DOUBLE_EQ(readings.gpm.dram_ratio.value(), 0.5);
  EXPECT_EQ(readings.power_watts, 500);
  EXPECT_EQ(readings.temperature_celsius, 60);
  EXPECT_EQ(readings.sm_clock_hertz, 1500e6);
  EXPECT_EQ(sampler_->gpu_uuid(), kGpuUuid);
  // Not asked for, as NVML has none with MIG on.
  EXPECT_EQ(readings.busy_ratio, std::nullopt);
  for (const CallCount& call : library_->calls()) {
    EXPECT_NE(call.call, "nvmlDeviceGetUtilizationRates");
  }
}

TEST_F(DeviceSamplerTest, MetricThatIsNotSupportedIsAbsentAndInTheTable) {
  Start(MixedMig(), kFirstMig);
  const DeviceReadings readings = ReadAfter(200);
  EXPECT_EQ(readings.gpm.tensor_ratio, std::nullopt);
  EXPECT_EQ(CountOf(*library_, "nvmlGpmMetricsGet ANY_TENSOR_UTIL",
                    Code::kNotSupported),
            1U);
  EXPECT_EQ(CountOf(*library_, "nvmlGpmMetricsGet SM_UTIL", Code::kSuccess),
            1U);
}

TEST_F(DeviceSamplerTest, SliceIsSampledByItsHandleWhereItsGpuRefuses) {
  Start(absl::StrCat(MixedMig(), "code call=nvmlGpmMigSampleGet code=4\n"),
        kFirstMig);
  EXPECT_DOUBLE_EQ(ReadAfter(200).gpm.sm_ratio.value(), 0.75);
  EXPECT_EQ(CountOf(*library_, "nvmlGpmMigSampleGet", Code::kNoPermission), 1U);
}

TEST_F(DeviceSamplerTest, GpuWithoutGpmTellsTheRest) {
  Start(
      absl::StrCat("gpu uuid=", kGpuUuid, " mig=none gpm=no power_mw=70000\n"),
      kGpuUuid);
  const DeviceReadings readings = ReadAfter(200);
  EXPECT_EQ(readings.gpm.sm_ratio, std::nullopt);
  EXPECT_EQ(readings.power_watts, 70);
  EXPECT_EQ(readings.energy_joules, std::nullopt);
  EXPECT_EQ(CountOf(*library_, "nvmlGpmSampleAlloc", Code::kSuccess), 0U);
}

TEST_F(DeviceSamplerTest, LibraryWithoutGpmTellsTheRest) {
  for (const char* symbol : {"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc",
                             "nvmlGpmSampleGet", "nvmlGpmMetricsGet"}) {
    Start(WholeGpu(), kGpuUuid, {symbol});
    const DeviceReadings readings = ReadAfter(200);
    EXPECT_EQ(readings.gpm.sm_ratio, std::nullopt) << symbol;
    EXPECT_EQ(readings.power_watts, 350.5) << symbol;
    EXPECT_GT(CountOf(*library_, symbol, Code::kFunctionNotFound), 0U);
  }
}

TEST_F(DeviceSamplerTest, WhatIsNotPermittedIsAbsentNeverZero) {
  Start(absl::StrCat(WholeGpu(),
                     "code call=nvmlDeviceGetMemoryInfo_v2 code=4\n"
                     "code call=nvmlDeviceGetMemoryInfo code=4\n"
                     "code call=nvmlDeviceGetPowerUsage code=4\n"
                     "code call=nvmlDeviceGetUtilizationRates code=3\n"
                     "code call=nvmlGpmMetricsGet code=4\n"),
        kGpuUuid);
  const DeviceReadings readings = ReadAfter(200);
  EXPECT_EQ(readings.memory_total_bytes, std::nullopt);
  EXPECT_EQ(readings.memory_used_bytes, std::nullopt);
  EXPECT_EQ(readings.power_watts, std::nullopt);
  EXPECT_EQ(readings.busy_ratio, std::nullopt);
  EXPECT_EQ(readings.gpm.sm_ratio, std::nullopt);
  EXPECT_EQ(readings.power_limit_watts, 700);
  EXPECT_EQ(CountOf(*library_, "nvmlDeviceGetPowerUsage", Code::kNoPermission),
            1U);
}

TEST_F(DeviceSamplerTest, OlderLibraryIsReadByItsOlderCalls) {
  Start(WholeGpu(), kGpuUuid,
        {"nvmlDeviceGetTemperatureV", "nvmlDeviceGetMemoryInfo_v2"});
  const DeviceReadings readings = sampler_->Read();
  EXPECT_EQ(readings.temperature_celsius, 45);
  EXPECT_EQ(readings.memory_used_bytes, 1000 * kMib);
  EXPECT_EQ(readings.memory_reserved_bytes, std::nullopt);
}

TEST_F(DeviceSamplerTest, SliceWhoseGpuIsNotToldHasItsOwnValues) {
  Start(MixedMig(), kFirstMig,
        {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"});
  const DeviceReadings readings = ReadAfter(200);
  EXPECT_EQ(readings.memory_used_bytes, 100 * kMib);
  EXPECT_EQ(readings.power_watts, std::nullopt);
  EXPECT_EQ(sampler_->gpu_uuid(), "");
}

TEST_F(DeviceSamplerTest, UnknownUuidIsNotFound) {
  const auto library = StartFake(WholeGpu());
  ASSERT_TRUE(library.ok()) << library.status();
  const auto sampler = DeviceSampler::Create(**library, "GPU-none", clock_);
  EXPECT_EQ(sampler.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DeviceSamplerTest, LostGpuMakesAllAbsentAndIsCounted) {
  // The calls of the start and of one read are fewer.
  Start(absl::StrCat(WholeGpu(), "lost code=15 after=40\n"), kGpuUuid);
  EXPECT_TRUE(sampler_->Read().power_watts.has_value());
  for (int i = 0; i < 10; ++i) {
    ReadAfter(200);
  }
  const DeviceReadings readings = ReadAfter(200);
  EXPECT_EQ(readings.memory_total_bytes, std::nullopt);
  EXPECT_EQ(readings.power_watts, std::nullopt);
  EXPECT_EQ(readings.temperature_celsius, std::nullopt);
  EXPECT_EQ(readings.gpm.sm_ratio, std::nullopt);
  EXPECT_GT(CountOf(*library_, "nvmlDeviceGetPowerUsage", Code::kGpuIsLost),
            0U);
}

// Wherever it is lost: no crash, and nothing that was not read.
TEST_F(DeviceSamplerTest, DriverMayBeLostAtEveryCall) {
  for (int after = 2; after < 40; ++after) {
    sampler_.reset();
    const auto library =
        StartFake(absl::StrCat(MixedMig(), "lost code=9 after=", after, "\n"));
    ASSERT_TRUE(library.ok()) << library.status();
    const auto sampler = DeviceSampler::Create(**library, kFirstMig, clock_);
    ASSERT_TRUE(sampler.ok()) << sampler.status();
    for (int i = 0; i < 3; ++i) {
      clock_.Advance(Milliseconds(200));
      (*sampler)->Read();
    }
    const DeviceReadings readings = (*sampler)->Read();
    if (readings.power_watts.has_value()) {
      EXPECT_EQ(readings.power_watts, 500) << after;
    }
    if (readings.memory_total_bytes.has_value()) {
      EXPECT_EQ(readings.memory_total_bytes, 16384 * kMib) << after;
    }
  }
}

}  // namespace
}  // namespace ferry::nvml
