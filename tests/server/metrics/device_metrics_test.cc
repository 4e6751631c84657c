// Tests the metrics of a device as Prometheus reads them, and on the page.
#include "server/metrics/device_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "models/device.h"
#include "server/metrics/metrics.h"
#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kScenario[] =
    "gpu uuid=GPU-aa name=NVIDIA_H200 bus=00000000:1B:00.0 memory_mib=143771 "
    "mig=on places=7 gpm=yes power_mw=350500 limit_mw=700000 energy_mj=2500 "
    "celsius=45 sm_mhz=1980 memory_mhz=2619\n"
    "mig gpu=0 place=3 uuid=MIG-11 name=NVIDIA_H200_MIG_1g.18gb gi=9 ci=0 "
    "sms=16 slices=1 memory_mib=16384 used_mib=1024 reserved_mib=16\n"
    "gpu uuid=GPU-bb name=NVIDIA_T4 mig=none memory_mib=15360 busy=40 "
    "memory_busy=5\n"
    "code call=nvmlDeviceGetMemoryInfo_v2 code=4 gpu=1\n"
    "code call=nvmlDeviceGetMemoryInfo code=4 gpu=1\n";

constexpr Duration kPatience = std::chrono::seconds(20);

class DeviceMetricsTest : public ::testing::Test {
 protected:
  void Open(const std::string& scenario, const std::string& text) {
    const std::string path =
        ::testing::TempDir() + "scenario." + std::to_string(getpid());
    std::ofstream(path) << scenario;
    setenv("FERRY_FAKE_NVML", path.c_str(), 1);
    auto device = Device::Open(*nvml::ParseDevice(text), std::nullopt,
                               {.nvml = FERRY_FAKE_NVML_FILE, .sysfs = "/no"});
    std::filesystem::remove(path);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  std::string Text() {
    DeviceMetrics metrics(device_->library(), device_->choice(),
                          [this] { return device_->sampler().Read(); });
    metrics.Refresh(kPatience);
    return ToPrometheusText(metrics.Collect());
  }

  std::unique_ptr<Device> device_;
};

TEST_F(DeviceMetricsTest, SliceAndItsGpu) {
  Open(kScenario, "MIG-11");
  const std::string text = Text();
  for (const char* sample :
       {"ferry_device_info{uuid=\"MIG-11\",profile=\"1g.18gb\","
        "name=\"NVIDIA H200 MIG 1g.18gb\",parent_uuid=\"GPU-aa\"} 1",
        "ferry_device_multiprocessors{uuid=\"MIG-11\"} 16",
        "ferry_device_memory_bytes{uuid=\"MIG-11\",kind=\"total\"} 17179869184",
        "ferry_device_memory_bytes{uuid=\"MIG-11\",kind=\"used\"} 1073741824",
        "ferry_device_memory_bytes{uuid=\"MIG-11\",kind=\"reserved\"} 16777216",
        "ferry_gpu_power_watts{uuid=\"GPU-aa\"} 350.5",
        "ferry_gpu_power_limit_watts{uuid=\"GPU-aa\"} 700",
        "# TYPE ferry_gpu_energy_joules_total counter",
        "ferry_gpu_energy_joules_total{uuid=\"GPU-aa\"} 2.5",
        "ferry_gpu_temperature_celsius{uuid=\"GPU-aa\"} 45",
        "ferry_gpu_clock_hertz{uuid=\"GPU-aa\",domain=\"sm\"} 1980000000",
        "ferry_gpu_clock_hertz{uuid=\"GPU-aa\",domain=\"memory\"} "
        "2619000000"}) {
    EXPECT_THAT(text, HasSubstr(sample));
  }
  EXPECT_THAT(text, Not(HasSubstr("ferry_gpu_busy_ratio")));
  // They cover an interval that has not passed.
  EXPECT_THAT(text, Not(HasSubstr("ferry_gpm_")));
}

TEST_F(DeviceMetricsTest, WhatIsNotToldHasNoSample) {
  Open(kScenario, "cuda:1");
  const std::string text = Text();
  EXPECT_THAT(text,
              AllOf(HasSubstr("ferry_gpu_busy_ratio{uuid=\"GPU-bb\"} 0.4"),
                    HasSubstr("parent_uuid=\"\"} 1")));
  for (const char* family :
       {"ferry_device_memory_bytes", "ferry_device_multiprocessors",
        "ferry_gpu_power_watts", "ferry_gpu_energy_joules_total",
        "ferry_gpm_sm_ratio", "ferry_gpu_clock_hertz"}) {
    EXPECT_THAT(text, Not(HasSubstr(family)));
  }
}

TEST_F(DeviceMetricsTest, MultiprocessorsThatCudaTellsStandWhereASlicesDo) {
  Open(kScenario, "cuda:1");
  ASSERT_TRUE(device_->LearnMultiprocessors(40));
  EXPECT_THAT(Text(),
              HasSubstr("ferry_device_multiprocessors{uuid=\"GPU-bb\"} 40"));
}

TEST_F(DeviceMetricsTest, FailedCallsCountByCode) {
  Open(kScenario, "cuda:1");
  Text();
  const std::string text = Text();
  // One at the choice, one at each text.
  EXPECT_THAT(text,
              HasSubstr("ferry_nvml_errors_total{call="
                        "\"nvmlDeviceGetMemoryInfo\",code=\"NO_PERMISSION\"} "
                        "3"));
  EXPECT_THAT(text, Not(HasSubstr("code=\"SUCCESS\"")));
  // An empty place for a MIG device is no error.
  EXPECT_THAT(text, Not(HasSubstr("nvmlDeviceGetMigDeviceHandleByIndex")));
}

TEST_F(DeviceMetricsTest, LostGpuLeavesItsErrors) {
  Open(std::string(kScenario) + "lost code=15 after=60\n", "MIG-11");
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text = Text();
  }
  EXPECT_THAT(text, HasSubstr("ferry_device_info{uuid=\"MIG-11\""));
  EXPECT_THAT(text, Not(HasSubstr("ferry_gpu_power_watts")));
  EXPECT_THAT(text, Not(HasSubstr("ferry_device_memory_bytes")));
  EXPECT_THAT(text, HasSubstr("ferry_nvml_errors_total{call="
                              "\"nvmlDeviceGetPowerUsage\","
                              "code=\"GPU_IS_LOST\"}"));
}

TEST_F(DeviceMetricsTest, ReadingOfADriverThatHangsGrowsOldAndIsLeftOut) {
  Open(kScenario, "MIG-11");
  FakeClock clock;
  std::promise<void> may_go;
  int calls = 0;
  DeviceMetrics metrics(
      device_->library(), device_->choice(),
      [&] {
        if (++calls == 2) {
          may_go.get_future().wait();
        }
        return device_->sampler().Read();
      },
      clock);
  metrics.Refresh(kPatience);
  EXPECT_THAT(ToPrometheusText(metrics.Collect()),
              AllOf(HasSubstr("ferry_gpu_power_watts{uuid=\"GPU-aa\"} 350.5"),
                    HasSubstr("\nferry_device_reading_age_seconds 0\n")));
  metrics.Refresh(Duration(0));  // hangs
  clock.Advance(DeviceMetrics::kOldest);
  EXPECT_THAT(ToPrometheusText(metrics.Collect()),
              AllOf(HasSubstr("ferry_gpu_power_watts{uuid=\"GPU-aa\"} 350.5"),
                    HasSubstr("\nferry_device_reading_age_seconds 5\n")));
  clock.Advance(Milliseconds(40'500));
  metrics.Refresh(Duration(0));
  EXPECT_THAT(ToPrometheusText(metrics.Collect()),
              AllOf(HasSubstr("ferry_device_info{uuid=\"MIG-11\""),
                    HasSubstr("\nferry_device_reading_age_seconds 45.5\n"),
                    Not(HasSubstr("ferry_gpu_power_watts"))));
  may_go.set_value();
  do {
    metrics.Refresh(kPatience);
  } while (!absl::StrContains(ToPrometheusText(metrics.Collect()),
                              "\nferry_device_reading_age_seconds 0\n"));
  EXPECT_THAT(ToPrometheusText(metrics.Collect()),
              HasSubstr("ferry_gpu_power_watts{uuid=\"GPU-aa\"} 350.5"));
}

TEST_F(DeviceMetricsTest, AgeIsThatOfTheServerBeforeTheFirstReading) {
  Open(kScenario, "MIG-11");
  FakeClock clock;
  const DeviceMetrics metrics(
      device_->library(), device_->choice(),
      [] { return nvml::DeviceReadings(); }, clock);
  clock.Advance(Milliseconds(7'000));
  EXPECT_THAT(ToPrometheusText(metrics.Collect()),
              HasSubstr("\nferry_device_reading_age_seconds 7\n"));
}

}  // namespace
}  // namespace ferry
