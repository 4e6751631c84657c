// Tests how readings become means, by hand-made times.
#include "bench/device/device_means.h"

#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

DeviceReading At(double seconds) {
  DeviceReading reading;
  reading.at = TimePoint(Milliseconds(seconds * 1e3));
  reading.device.name = "NVIDIA H100";
  return reading;
}

DeviceReading WithPower(double seconds, std::optional<double> watts,
                        std::optional<double> joules = std::nullopt) {
  DeviceReading reading = At(seconds);
  reading.values.power_watts = watts;
  reading.values.energy_joules = joules;
  return reading;
}

TEST(DeviceMeansTest, EachReadingSpeaksForTheTimeBeforeIt) {
  DeviceMeans means;
  for (const auto& [seconds, watts] :
       {std::pair{10.0, 999.0}, {11.0, 100.0}, {13.0, 400.0}}) {
    means.Add(WithPower(seconds, watts));
  }
  const auto summary = means.Summary();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->name, "NVIDIA H100");
  EXPECT_DOUBLE_EQ(summary->power_w.value(), (100 * 1 + 400 * 2) / 3.0);
  EXPECT_FALSE(summary->energy_j.has_value());
}

TEST(DeviceMeansTest, EachValueHasItsUnit) {
  DeviceReading reading = At(1);
  reading.values.gpm = {.graphics_ratio = 0.9,
                        .sm_ratio = 0.8,
                        .sm_occupancy_ratio = {},
                        .tensor_ratio = 0.25,
                        .hmma_ratio = {},
                        .dram_ratio = 1.004,
                        .pcie_sent_bytes_per_second = {},
                        .pcie_received_bytes_per_second = {}};
  reading.values.busy_ratio = 0.4;
  reading.values.memory_used_bytes = 3e9;
  reading.values.temperature_celsius = 45;
  reading.values.sm_clock_hertz = 1980e6;
  reading.values.memory_clock_hertz = 2619e6;
  reading.values.memory_total_bytes = 8e10;
  reading.values.power_limit_watts = 700;
  DeviceMeans means;
  means.Add(At(0));
  means.Add(reading);
  const auto summary = means.Summary();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->utilization, 0.9) << "GPM's, where it is told";
  EXPECT_EQ(summary->memory_used_bytes, 3e9);
  EXPECT_EQ(summary->temperature_c, 45);
  EXPECT_EQ(summary->sm_clock_mhz, 1980);
  EXPECT_EQ(summary->sm_ratio, 0.8);
  EXPECT_EQ(summary->tensor_ratio, 0.25);
  EXPECT_EQ(summary->dram_ratio, 1) << "a ratio is not more";
  const DeviceFacts facts = FactsOf(reading);
  EXPECT_EQ(facts.device.name, "NVIDIA H100");
  EXPECT_EQ(facts.memory_bytes, 8e10);
  EXPECT_EQ(facts.power_limit_w, 700);
  EXPECT_EQ(facts.sm_clock_mhz, 1980);
  EXPECT_EQ(facts.memory_clock_mhz, 2619);
}

TEST(DeviceMeansTest, WhatIsNotToldIsAbsentNeverZero) {
  DeviceMeans means;
  EXPECT_FALSE(means.Summary().has_value());
  means.Add(WithPower(0, 100, 5));
  EXPECT_FALSE(means.Summary().has_value()) << "one reading is no window";
  means.Add(At(1));
  const auto summary = means.Summary();
  ASSERT_TRUE(summary.has_value());
  EXPECT_FALSE(summary->utilization.has_value());
  EXPECT_FALSE(summary->memory_used_bytes.has_value());
  EXPECT_FALSE(summary->power_w.has_value());
  EXPECT_FALSE(summary->energy_j.has_value());
}

TEST(DeviceMeansTest, WhatIsToldOfLessThanHalfOfTheWindowIsAbsent) {
  DeviceMeans means;
  means.Add(WithPower(0, 100));
  means.Add(WithPower(1, 100));
  means.Add(WithPower(2, std::nullopt));
  EXPECT_EQ(means.Summary()->power_w, 100);
  means.Add(WithPower(3, std::nullopt));
  EXPECT_FALSE(means.Summary()->power_w.has_value());
}

TEST(DeviceMeansTest, EnergyIsADifferenceAndPowerThatOverTime) {
  DeviceMeans means;
  means.Add(WithPower(10, 1, 5000));
  means.Add(WithPower(11, 1, 5100));
  means.Add(WithPower(12, 1, 5400));
  const auto summary = means.Summary();
  EXPECT_EQ(summary->energy_j, 400);
  EXPECT_EQ(summary->power_w, 200) << "not the watts of a moment";
}

TEST(DeviceMeansTest, CounterThatWentBackOrWasMissingHasNoDifference) {
  for (const std::optional<double> joules :
       {std::optional(4999.0), std::optional<double>()}) {
    DeviceMeans means;
    means.Add(WithPower(0, 70, 5000));
    means.Add(WithPower(1, 70, joules));
    means.Add(WithPower(2, 70, 6000));
    EXPECT_FALSE(means.Summary()->energy_j.has_value());
    EXPECT_EQ(means.Summary()->power_w, 70);
  }
}

TEST(DeviceMeansTest, CounterThatStandsStillForLongIsTooRough) {
  DeviceMeans means;
  for (int second = 0; second <= 10; ++second) {
    means.Add(WithPower(second, 70, 100 * (second / 2)));  // every 2 s
  }
  EXPECT_FALSE(means.Summary()->energy_j.has_value());
  EXPECT_EQ(means.Summary()->power_w, 70);
  for (int second = 11; second <= 20; ++second) {
    means.Add(WithPower(second, 70, 100 * (second / 2)));
  }
  EXPECT_EQ(means.Summary()->energy_j, 1000) << "1 s of 20";
}

TEST(DeviceMeansTest, WhatMayBeOlderThanTheWindowDoesNotCount) {
  DeviceMeans means;
  for (int second = 0; second <= 39; ++second) {
    DeviceReading reading =
        WithPower(second, second < 2 ? 999 : 70, 100 * second);
    reading.age = Milliseconds(2000);
    means.Add(reading);
    if (second == 1) {
      EXPECT_FALSE(means.Summary()->power_w.has_value());
    }
    if (second == 2) {
      EXPECT_EQ(means.Summary()->power_w, 70);
    }
  }
  EXPECT_FALSE(means.Summary()->energy_j.has_value()) << "2 s are over 5 %";
  DeviceReading last = WithPower(40, 70, 4000);
  last.age = Milliseconds(2000);
  means.Add(last);
  EXPECT_EQ(means.Summary()->energy_j, 4000);
}

TEST(DeviceMeansTest, GpmOfAMomentIsThatOfBefore) {
  DeviceMeans means;
  means.Add(At(0));
  DeviceReading reading = At(0.05);
  reading.values.gpm.graphics_ratio = 0.9;
  reading.values.busy_ratio = 0.4;
  means.Add(reading);
  EXPECT_DOUBLE_EQ(means.Summary()->utilization.value(), 0.4);
}

TEST(DeviceMeansTest, DeviceWithoutANameHasItsUuid) {
  DeviceMeans means;
  for (const double seconds : {0.0, 1.0}) {
    DeviceReading reading = At(seconds);
    reading.device = {.name = "",
                      .uuid = "GPU-1",
                      .gpu_uuid = "",
                      .driver_version = "",
                      .source = ""};
    means.Add(reading);
  }
  EXPECT_EQ(means.Summary()->name, "GPU-1");
}

}  // namespace
}  // namespace ferry::bench
