// Tests what a model is said to take of memory, and where it fits.
#include "deploy/ctl/memory_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MemoryQuestion Of(double parameters, double bytes) {
  return {.input = {.weight_bytes = *plan::WeightBytes(parameters, bytes)},
          .weights = "given"};
}

plan::DeviceFile Devices() {
  return {.source = "test",
          .devices = {{"small", 16}, {"large", 80}, {"largest", 141}}};
}

TEST(MemoryAnswerTest, WeightsOfKnownSizes) {
  EXPECT_DOUBLE_EQ(*plan::WeightBytes(7e9, 2), 14e9);
  EXPECT_DOUBLE_EQ(*plan::WeightBytes(70e9, 2), 140e9);
  const auto answer = MemoryAnswer(Of(7e9, 2), std::nullopt);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sentence, "It takes 14 GB (13.04 GiB) to serve.");
  EXPECT_EQ(answer->findings.front().name, "activations_are_not_known");
}

TEST(MemoryAnswerTest, ActivationsCountByTheBatch) {
  MemoryQuestion question = Of(7e9, 2);
  question.input.activation_bytes_per_row = 1e9;
  question.input.rows = 6;
  const auto answer = MemoryAnswer(question, Devices());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->sentence,
              AllOf(HasSubstr("20 GB"), HasSubstr("fits on large, largest.")));
  EXPECT_EQ(answer->gravest(), std::nullopt);
}

TEST(MemoryAnswerTest, TheReserveDecidesAtTheEdge) {
  MemoryQuestion question = Of(7e9, 2);
  question.reserve_share = 0.18;  // 13.12 of 16 GiB are left
  EXPECT_THAT(MemoryAnswer(question, Devices())->sentence, HasSubstr("small"));
  question.reserve_share = 0.19;
  EXPECT_THAT(MemoryAnswer(question, Devices())->sentence,
              HasSubstr("fits on large"));
  question.reserve_share = 1;
  EXPECT_THAT(std::string(MemoryAnswer(question, Devices()).status().message()),
              HasSubstr("reserve share: expected"));
}

TEST(MemoryAnswerTest, WhatFitsNowhereIsCritical) {
  const auto answer = MemoryAnswer(Of(70e9, 4), Devices());
  EXPECT_THAT(answer->sentence, HasSubstr("none of these devices"));
  EXPECT_EQ(answer->gravest(), Severity::kCritical);
}

TEST(DeviceFileTest, TheExampleIsTaken) {
  std::ifstream file(FERRY_SOURCE_DIR "/examples/devices.json");
  std::ostringstream text;
  text << file.rdbuf();
  const auto devices = plan::ParseDevices(text.str(), "devices.json");
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_GE(devices->devices.size(), 5U);
}

TEST(DeviceFileTest, WrongFilesAreRefusedByTheirPlace) {
  const auto refusal = [](const std::string& text) {
    return std::string(plan::ParseDevices(text, "d.json").status().message());
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

}  // namespace
}  // namespace ferry::ctl
