// Tests what people are told of causes, and of a roofline.
#include "deploy/ctl/diagnose_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kSamples = 60;

plan::Recording Padded(double padding) {
  plan::Recording recording;
  recording.size = kSamples;
  recording.signals[plan::Signal::kPadding].assign(kSamples, padding);
  recording.signals[plan::Signal::kBusy].assign(kSamples, 0.9);
  return recording;
}

TEST(DiagnoseAnswerTest, ACauseHasEvidenceConfidenceAndASetting) {
  const auto answer = DiagnoseAnswer(Padded(0.4), "r.json");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sentence, "Found: padding.");
  EXPECT_EQ(answer->gravest(), Severity::kWarning);
  const std::string text = AnswerText(*answer);
  EXPECT_THAT(text, AllOf(HasSubstr("r.json, 60 samples, one in 1 s"),
                          HasSubstr("padding 40.0 % (>= 25 %), busy 90.0 %"),
                          HasSubstr("high"), HasSubstr("To change: more")));
  EXPECT_THAT(text, HasSubstr("whether pcie_bound is a cause is not known: "
                              "pcie was not sampled"));
}

TEST(DiagnoseAnswerTest, NothingFoundSaysWhatIsNotKnown) {
  const auto answer = DiagnoseAnswer(Padded(0.1), "r.json");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->sentence, HasSubstr("some of it is not known"));
  EXPECT_EQ(answer->gravest(), Severity::kNote);
}

RooflineQuestion Large(const std::string& device) {
  RooflineQuestion question;
  question.input.flops_per_row = 14e9;
  question.input.weight_bytes = 14e9;
  question.device = device;
  return question;
}

plan::DeviceFile Devices() {
  return {.source = "test",
          .devices = {{.name = "old", .memory_gib = 16},
                      {.name = "new",
                       .memory_gib = 80,
                       .memory_gb_per_second = 2000,
                       .tflops = 312}}};
}

TEST(RooflineAnswerTest, SaysWhichBoundAndFromWhatBatchOn) {
  const auto answer = RooflineAnswer(Large("new"), Devices());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sentence,
            "A batch of 1 on new is bound by memory: memory takes 7.000 ms, "
            "arithmetic 0.045 ms at least.");
  EXPECT_THAT(AnswerText(*answer), HasSubstr("ridge_rows"));
}

TEST(RooflineAnswerTest, NeedsTheDevicesNumbers) {
  EXPECT_EQ(RooflineAnswer(Large("old"), Devices()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(RooflineAnswer(Large("none"), Devices()).status().message()),
      HasSubstr("expected one of old, new, got 'none'"));
}

}  // namespace
}  // namespace ferry::ctl
