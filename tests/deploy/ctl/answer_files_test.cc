// Tests that pages and notes have all that an answer says, and that none of it
// becomes markup.
#include "deploy/ctl/answer_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/plan/formulas.h"

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Answer Advice() {
  Answer answer;
  answer.command = "advise";
  answer.sentence = "First: <b>larger</b> batches.";
  answer.inputs = {{"recording", "week.json"}};
  answer.currency = "USD";
  answer.numbers = {{plan::kCostPerMillion, 0.0278}};
  answer.table = {.headings = {"step", "answer"},
                  .rows = {{"measure", "load 20 % | low"}}};
  answer.findings = {{Severity::kWarning, "low", "less_would_do"}};
  return answer;
}

TEST(AnswerFilesTest, ThePageHasEachPartAndNeedsNoOther) {
  const std::string page = AnswerPage(Advice(), "2026-01-31T12:00:00Z");
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("First: &lt;b&gt;larger"), HasSubstr("load 20 % | low"),
            HasSubstr("warning: less_would_do"),
            HasSubstr("cost_per_hour / (3600 * average_rate)"),
            HasSubstr("recording: week.json"), HasSubstr("2026-01-31")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<b>")), Not(HasSubstr("http")),
                          Not(HasSubstr("<script"))));
}

TEST(AnswerFilesTest, TheNoteIsMarkdownWithTheNumbersFormulas) {
  EXPECT_EQ(AnswerNote(Advice(), "2026-01-31T12:00:00Z"),
            "# First: &lt;b>larger&lt;/b> batches.\n\n"
            "- date: 2026-01-31T12:00:00Z\n- by: ferryctl advise\n"
            "- recording: week.json\n"
            "\n## Steps\n\n| step | answer |\n| --- | --- |\n"
            "| measure | load 20 % \\| low |\n"
            "\n## What was found\n\n- warning: less\\_would\\_do\n"
            "\n## Numbers\n\n"
            "| number | unit | value | formula | source |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| cost\\_per\\_million | USD | 0.0278 | cost\\_per\\_hour / "
            "(3600 \\* average\\_rate) \\* 1e6 | arithmetic, at the average "
            "rate, not at the peak |\n");
}

}  // namespace
}  // namespace ferry::ctl
