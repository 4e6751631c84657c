// Tests what a model is said to take of memory, and where it fits.
#include "deploy/ctl/memory_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
          .devices = {{.name = "small", .memory_gib = 16},
                      {.name = "large", .memory_gib = 80},
                      {.name = "largest", .memory_gib = 141}}};
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

}  // namespace
}  // namespace ferry::ctl
