// Tests which files of devices are taken, and which are refused.
#include "bench/plan/device_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace ferry::plan {
namespace {

using ::testing::HasSubstr;

TEST(DeviceFileTest, TheExampleIsTaken) {
  std::ifstream file(FERRY_SOURCE_DIR "/examples/devices.json");
  std::ostringstream text;
  text << file.rdbuf();
  const auto devices = ParseDevices(text.str(), "devices.json");
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_GE(devices->devices.size(), 5U);
}

TEST(DeviceFileTest, WrongFilesAreRefusedByTheirPlace) {
  const auto refusal = [](const std::string& text) {
    return std::string(ParseDevices(text, "d.json").status().message());
  };
  EXPECT_THAT(refusal(R"({"devices": [{"name": "a", "memory_gib": 1}]})"),
              HasSubstr("source: expected"));
  EXPECT_THAT(refusal(R"({"source": "s", "devices": []})"),
              HasSubstr("devices: expected a list"));
  EXPECT_THAT(refusal(R"({"source": "s", "devices": [{"name": "a",
                          "memory_gib": 0}]})"),
              HasSubstr("devices[0]: memory_gib: expected"));
  EXPECT_THAT(refusal(R"({"source": "s", "devices": [
                          {"name": "a", "memory_gib": 1},
                          {"name": "a", "memory_gib": 2}]})"),
              HasSubstr("devices[1]: expected each device once"));
}

TEST(DeviceFileTest, WhatIsNotSaidIsZero) {
  const auto devices = ParseDevices(
      R"({"source": "s", "devices": [
          {"name": "a", "memory_gib": 1},
          {"name": "b", "memory_gib": 1, "tflops": 312,
           "memory_gb_per_second": 2039}]})",
      "d.json");
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(FindDevice(*devices, "a")->tflops, 0);
  EXPECT_EQ(FindDevice(*devices, "b")->tflops, 312);
  EXPECT_EQ(FindDevice(*devices, "b")->memory_gb_per_second, 2039);
  EXPECT_EQ(FindDevice(*devices, "c").status().message(),
            "device: expected one of a, b, got 'c'");
}

}  // namespace
}  // namespace ferry::plan
