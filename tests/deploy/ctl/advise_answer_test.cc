// Tests that advice has what each step says, and what a change would save.
#include "deploy/ctl/advise_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/plan/formulas.h"

namespace ferry::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Answer Sized() {
  Answer answer;
  answer.sentence = "It takes 3 devices.";
  answer.inputs = {{"rate", "given"}};
  answer.numbers = {{plan::kReplicas, 3}};
  answer.findings = {{Severity::kWarning, "no_spare", "one may be lost"}};
  return answer;
}

Advice Of(const std::optional<Change>& change) {
  return {.steps = {{kMeasureStep, Sized()},
                    {kSizeStep, Sized()},
                    {kCommitStep, absl::NotFoundError("expected --prices")}},
          .change = change,
          .currency = "USD"};
}

TEST(AdviseAnswerTest, EachStepIsARowAndWhatItSaysIsKeptOnce) {
  const Answer answer = AdviseAnswer(Of(std::nullopt));
  EXPECT_EQ(answer.sentence, "Change first: one may be lost.");
  EXPECT_THAT(
      answer.table.rows,
      ElementsAre(ElementsAre("measure", "It takes 3 devices."),
                  ElementsAre("size", "It takes 3 devices."),
                  ElementsAre("commit", "not known: expected --prices")));
  EXPECT_THAT(answer.inputs, ElementsAre(Pair("rate", "given")));
  EXPECT_EQ(answer.numbers.size(), 1U);
  ASSERT_EQ(answer.findings.size(), 2U);
  EXPECT_EQ(answer.findings[0].text, "measure: one may be lost");
  EXPECT_EQ(answer.gravest(), Severity::kWarning);
}

TEST(AdviseAnswerTest, AnInputThatAStepHasOtherwiseIsOfThatStep) {
  Advice advice = Of(std::nullopt);
  advice.steps[1].answer->inputs = {{"rate", "measured"}};
  EXPECT_THAT(
      AdviseAnswer(advice).inputs,
      ElementsAre(Pair("rate", "given"), Pair("rate of size", "measured")));
}

TEST(OfAnotherDeviceTest, NamesThatShareNoModelAreTold) {
  for (const auto& [measured, priced] :
       std::vector<std::pair<std::string, std::string>>{
           {"NVIDIA H100 80GB HBM3", "h100"},
           {"NVIDIA H200 MIG 1g.18gb", "H200-1g.18gb"},
           {"NVIDIA L4", "cloud L4"},
           {"", "h100"},
           {"NVIDIA L4", "slice"},
           {"NVIDIA L4", ""}}) {
    EXPECT_FALSE(OfAnotherDevice(measured, priced).has_value()) << priced;
  }
  const auto other = OfAnotherDevice("NVIDIA L4", "H100-SXM");
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->name, "another_device");
  EXPECT_EQ(other->text,
            "the result was measured on 'NVIDIA L4', and the price is of "
            "'H100-SXM': expected one device; where these are two names of it, "
            "all is well");
}

plan::PriceRow Price(int64_t devices_per_instance) {
  return {.device = "d",
          .region = "r",
          .per_hour = 2.0 * static_cast<double>(devices_per_instance),
          .devices_per_instance = devices_per_instance};
}

std::string ChangeOf(const Change& change) {
  return AdviseAnswer(Of(change)).table.rows.back().back();
}

TEST(AdviseAnswerTest, AChangeSaysWhatItSavesAndWhatItDoesToP99) {
  EXPECT_EQ(ChangeOf({.devices_now = 10,
                      .devices_needed = 3,
                      .price = Price(1),
                      .p99_ms = 12.5}),
            "3 devices in place of 10, saves 10,080.00 USD a month of 30 days; "
            "p99 12.50 ms, as measured at that rate or the next one above.");
  EXPECT_EQ(
      ChangeOf({.devices_now = 2, .devices_needed = 3, .price = Price(1)}),
      "3 devices in place of 2, for 1,440.00 USD more a month of 30 days; "
      "p99 is not known: no result has that rate.");
  EXPECT_EQ(ChangeOf({.devices_now = 4, .devices_needed = 3}),
            "3 devices in place of 4; p99 is not known: no result has that "
            "rate.");
}

TEST(AdviseAnswerTest, InstancesArePaidForWhole) {
  EXPECT_EQ(InstancesOf(8, Price(8)), 1);
  EXPECT_EQ(InstancesOf(9, Price(8)), 2);
  EXPECT_THAT(
      ChangeOf({.devices_now = 3, .devices_needed = 2, .price = Price(8)}),
      testing::HasSubstr("saves 0.00 USD"));
  EXPECT_THAT(
      ChangeOf({.devices_now = 9, .devices_needed = 8, .price = Price(8)}),
      testing::HasSubstr("saves 11,520.00 USD"));  // 16 * 720
}

std::string FirstOf(const std::vector<AdviceStep>& steps,
                    const std::optional<Change>& change) {
  return AdviseAnswer({.steps = steps, .change = change}).sentence;
}

TEST(AdviseAnswerTest, WhatKeepsADeviceFromDoingMoreComesFirst) {
  const Answer fine;
  Answer cause;
  cause.findings = {{Severity::kNote, "n", "a note"},
                    {Severity::kWarning, "padding", "padding"}};
  const Change more = {.devices_now = 3, .devices_needed = 4};
  EXPECT_EQ(FirstOf({{kMeasureStep, Sized()}, {kReasonStep, cause}}, more),
            "Change first: padding.");
  EXPECT_EQ(FirstOf({{kMeasureStep, fine}, {kReasonStep, fine}}, more),
            "Change first: 4 devices in place of 3.");
  EXPECT_EQ(FirstOf({{kMeasureStep, Sized()}, {kReasonStep, fine}},
                    Change{.devices_now = 3, .devices_needed = 3}),
            "Change first: one may be lost.");
  EXPECT_EQ(FirstOf({{kMeasureStep, fine}, {kSizeStep, Sized()}}, std::nullopt),
            "Nothing has to change, by what was measured.");
  EXPECT_EQ(FirstOf({{kMeasureStep, absl::FailedPreconditionError("gaps")},
                     {kReasonStep, fine}},
                    std::nullopt),
            "Not known: measure first.");
}

}  // namespace
}  // namespace ferry::ctl
