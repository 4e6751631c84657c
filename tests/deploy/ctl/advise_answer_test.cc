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
  return {.steps = {{"size", Sized()},
                    {"again", Sized()},
                    {"commit", absl::NotFoundError("expected --prices")}},
          .change_first = "First: larger batches.",
          .change = change};
}

TEST(AdviseAnswerTest, EachStepIsARowAndWhatItSaysIsKeptOnce) {
  const Answer answer = AdviseAnswer(Of(std::nullopt));
  EXPECT_EQ(answer.sentence, "First: larger batches.");
  EXPECT_THAT(
      answer.table.rows,
      ElementsAre(ElementsAre("size", "It takes 3 devices."),
                  ElementsAre("again", "It takes 3 devices."),
                  ElementsAre("commit", "not known: expected --prices")));
  EXPECT_THAT(answer.inputs, ElementsAre(Pair("rate", "given")));
  EXPECT_EQ(answer.numbers.size(), 1U);
  ASSERT_EQ(answer.findings.size(), 2U);
  EXPECT_EQ(answer.findings[0].text, "size: one may be lost");
  EXPECT_EQ(answer.gravest(), Severity::kWarning);
}

std::string ChangeOf(const Change& change) {
  return AdviseAnswer(Of(change)).table.rows.back().back();
}

TEST(AdviseAnswerTest, AChangeSaysWhatItSavesAndWhatItDoesToP99) {
  EXPECT_EQ(ChangeOf({.devices_now = 10,
                      .devices_needed = 3,
                      .per_hour = 2,
                      .p99_ms = 12.5}),
            "3 devices in place of 10, saves 10,080.00  a month of 30 days; "
            "p99 12.50 ms, as measured at that rate or the next one above.");
  EXPECT_EQ(ChangeOf({.devices_now = 2, .devices_needed = 3, .per_hour = 2}),
            "3 devices in place of 2, for 1,440.00  more a month of 30 days; "
            "p99 is not known: no result has that rate.");
  EXPECT_EQ(ChangeOf({.devices_now = 4, .devices_needed = 3}),
            "3 devices in place of 4; p99 is not known: no result has that "
            "rate.");
}

}  // namespace
}  // namespace ferry::ctl
