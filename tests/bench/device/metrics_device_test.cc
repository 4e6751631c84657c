// Tests how pages of Ferry and of Triton become readings.
#include "bench/device/metrics_device.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

constexpr char kSlice[] =
    "# TYPE ferry_device_info gauge\n"
    "ferry_device_info{uuid=\"MIG-11\",profile=\"1g.18gb\","
    "name=\"NVIDIA H200 MIG 1g.18gb\",parent_uuid=\"GPU-aa\"} 1\n"
    "ferry_device_multiprocessors{uuid=\"MIG-11\"} 16\n"
    "ferry_device_memory_bytes{uuid=\"MIG-11\",kind=\"total\"} 17179869184\n"
    "ferry_device_memory_bytes{uuid=\"MIG-11\",kind=\"used\"} 1073741824\n"
    "ferry_device_memory_bytes{uuid=\"MIG-11\",kind=\"reserved\"} 16777216\n"
    "ferry_gpm_graphics_ratio{uuid=\"MIG-11\"} 0.9\n"
    "ferry_gpm_sm_ratio{uuid=\"MIG-11\"} 0.75\n"
    "ferry_gpm_tensor_ratio{uuid=\"MIG-11\"} 0.2\n"
    "ferry_gpm_dram_ratio{uuid=\"MIG-11\"} 0.5\n"
    "ferry_gpu_power_watts{uuid=\"GPU-aa\"} 350.5\n"
    "ferry_gpu_power_limit_watts{uuid=\"GPU-aa\"} 700\n"
    "ferry_gpu_energy_joules_total{uuid=\"GPU-aa\"} 2.5\n"
    "ferry_gpu_temperature_celsius{uuid=\"GPU-aa\"} 45\n"
    "ferry_gpu_clock_hertz{uuid=\"GPU-aa\",domain=\"sm\"} 1980000000\n"
    "ferry_gpu_clock_hertz{uuid=\"GPU-aa\",domain=\"memory\"} 2619000000\n";

// A GPU as Triton tells of it.
std::string TritonGpu(const std::string& uuid, double utilization,
                      double power) {
  const std::string label = absl::StrCat("{gpu_uuid=\"", uuid, "\"} ");
  return absl::StrCat(
      "nv_gpu_utilization", label, utilization, "\nnv_gpu_power_usage", label,
      power, "\nnv_gpu_power_limit", label, "300\nnv_energy_consumption", label,
      "1000\nnv_gpu_memory_total_bytes", label,
      "16000\nnv_gpu_memory_used_bytes", label, "600\n");
}

TEST(ParseDevicePageTest, FerryTellsOfItsDeviceAndItsGpu) {
  const auto reading = ParseDevicePage(kSlice);
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->device.name, "NVIDIA H200 MIG 1g.18gb");
  EXPECT_EQ(reading->device.uuid, "MIG-11");
  EXPECT_EQ(reading->device.gpu_uuid, "GPU-aa");
  EXPECT_EQ(reading->device.driver_version, "") << "it does not tell";
  EXPECT_EQ(reading->device.source, "metrics");
  EXPECT_EQ(reading->age, Duration(0));
  const nvml::DeviceReadings& values = reading->values;
  EXPECT_EQ(values.memory_total_bytes, 17179869184);
  EXPECT_EQ(values.memory_used_bytes, 1073741824);
  EXPECT_EQ(values.memory_reserved_bytes, 16777216);
  EXPECT_EQ(values.gpm.graphics_ratio, 0.9);
  EXPECT_EQ(values.gpm.sm_ratio, 0.75);
  EXPECT_EQ(values.gpm.tensor_ratio, 0.2);
  EXPECT_EQ(values.gpm.dram_ratio, 0.5);
  EXPECT_EQ(values.gpm.hmma_ratio, std::nullopt);
  EXPECT_EQ(values.power_watts, 350.5);
  EXPECT_EQ(values.power_limit_watts, 700);
  EXPECT_EQ(values.energy_joules, 2.5);
  EXPECT_EQ(values.temperature_celsius, 45);
  EXPECT_EQ(values.sm_clock_hertz, 1980e6);
  EXPECT_EQ(values.memory_clock_hertz, 2619e6);
  EXPECT_EQ(values.busy_ratio, std::nullopt) << "MIG is on";
}

TEST(ParseDevicePageTest, NumbersThatNoDeviceTellsAreAbsent) {
  const auto reading = ParseDevicePage(
      "ferry_device_info{uuid=\"GPU-aa\",parent_uuid=\"\"} 1\n"
      "ferry_gpu_power_watts{uuid=\"GPU-aa\"} NaN\n"
      "ferry_gpu_energy_joules_total{uuid=\"GPU-aa\"} -1\n"
      "ferry_gpu_busy_ratio{uuid=\"GPU-aa\"} 0\n");
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->values.power_watts, std::nullopt);
  EXPECT_EQ(reading->values.energy_joules, std::nullopt);
  EXPECT_EQ(reading->values.busy_ratio, 0) << "that is told";
  EXPECT_FALSE(reading->device.is_slice());
}

TEST(ParseDevicePageTest, TritonTellsOfAGpuByItsUuid) {
  const auto reading = ParseDevicePage(TritonGpu("GPU-1", 0.5, 71.25));
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->device.uuid, "GPU-1");
  EXPECT_EQ(reading->device.name, "");
  EXPECT_EQ(reading->values.busy_ratio, 0.5);
  EXPECT_EQ(reading->values.power_watts, 71.25);
  EXPECT_EQ(reading->values.power_limit_watts, 300);
  EXPECT_EQ(reading->values.energy_joules, 1000);
  EXPECT_EQ(reading->values.memory_total_bytes, 16000);
  EXPECT_EQ(reading->values.memory_used_bytes, 600);
  EXPECT_GT(reading->age, Duration(0)) << "it renews them now and then";
}

TEST(ParseDevicePageTest, GpusOfATritonAreJoined) {
  const auto reading = ParseDevicePage(
      absl::StrCat(TritonGpu("GPU-1", 0.5, 70), TritonGpu("GPU-2", 0.25, 30)));
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->device.name, "2 GPUs");
  EXPECT_EQ(reading->values.busy_ratio, 0.375);
  EXPECT_EQ(reading->values.power_watts, 100);
  EXPECT_EQ(reading->values.memory_used_bytes, 1200);
  // What one of them does not tell is not told of both.
  const auto less = ParseDevicePage(absl::StrCat(
      TritonGpu("GPU-1", 0.5, 70), "nv_gpu_utilization{gpu_uuid=\"GPU-2\"} 1"));
  ASSERT_TRUE(less.has_value());
  EXPECT_EQ(less->values.busy_ratio, 0.75);
  EXPECT_EQ(less->values.power_watts, std::nullopt);
  EXPECT_EQ(less->values.energy_joules, std::nullopt);
}

TEST(ParseDevicePageTest, PageOfAProcessorTellsOfNone) {
  EXPECT_FALSE(ParseDevicePage("").has_value());
  EXPECT_FALSE(ParseDevicePage("ferry_instances{model=\"m\"} 1\n"
                               "nv_cpu_utilization 0.5\n"
                               "nv_gpu_utilization 0.5\n")
                   .has_value());
}

TEST(MetricsDeviceTest, ServerThatDoesNotAnswerTellsNothing) {
  MetricsDevice device("127.0.0.1:1");  // no server listens there
  EXPECT_FALSE(device.Read().has_value());
}

}  // namespace
}  // namespace ferry::bench
