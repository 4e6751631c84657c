// Tests what an answer says, to people and to programs.
#include "deploy/ctl/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ferry::ctl {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Answer Given() {
  Answer answer;
  answer.command = "cost spot";
  answer.sentence = "It costs less.";
  answer.inputs = {{"spot", "L4: 0.25"}};
  answer.currency = "EUR";
  answer.numbers = {{plan::kSpotPerHour, 0.25}};
  answer.table = {.headings = {"device", "rate"},
                  .rows = {{"L4", "100"}, {"A100-80GB", "7"}}};
  answer.findings = {{Severity::kNote, "look_again", "look again"},
                     {Severity::kWarning, "old_prices", "they are old"}};
  return answer;
}

TEST(AnswerTest, TheGravestFindingCounts) {
  EXPECT_EQ(Given().gravest(), Severity::kWarning);
  EXPECT_EQ(Answer().gravest(), std::nullopt);
}

TEST(AnswerTest, SeveritiesAreReadAsTheyAreWritten) {
  for (const Severity severity :
       {Severity::kNote, Severity::kWarning, Severity::kCritical}) {
    EXPECT_EQ(*ParseSeverity(SeverityName(severity)), severity);
  }
  EXPECT_THAT(std::string(ParseSeverity("fatal").status().message()),
              HasSubstr("got 'fatal'"));
}

TEST(AnswerTest, TextHasAllInItsOrder) {
  EXPECT_EQ(AnswerText(Given()),
            "It costs less.\n\n"
            "spot: L4: 0.25\n\n"
            "device     rate\n"
            "L4          100\n"
            "A100-80GB     7\n\n"
            "number         unit   value\n"
            "spot_per_hour  EUR/h   0.25\n"
            "note: look again\n"
            "warning: they are old\n\n"
            "formulas:\n"
            "  spot_per_hour = device_per_hour / (1 - redone_share)\n"
            "      source: arithmetic: an hour of work that counts, where "
            "interruptions have a share of the work done again\n");
}

TEST(AnswerTest, TextFitsATerminal) {
  std::vector<std::string> lines;
  std::istringstream text(AnswerText(Given(), 40));
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  EXPECT_THAT(lines, Each(SizeIs(::testing::Le(40U))));
}

TEST(AnswerTest, JsonHasTheSame) {
  const auto json =
      nlohmann::json::parse(AnswerJson(Given(), "2026-01-31T12:00:00Z"));
  EXPECT_EQ(json["format"], "ferryctl-answer/1");
  EXPECT_EQ(json["command"], "cost spot");
  EXPECT_EQ(json["date"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(json["answer"], "It costs less.");
  EXPECT_EQ(json["inputs"]["spot"], "L4: 0.25");
  EXPECT_EQ(json["numbers"][0]["name"], "spot_per_hour");
  EXPECT_EQ(json["numbers"][0]["unit"], "EUR/h");
  EXPECT_EQ(json["numbers"][0]["value"], 0.25);
  EXPECT_EQ(json["numbers"][0]["formula"],
            "device_per_hour / (1 - redone_share)");
  EXPECT_EQ(json["rows"][1]["device"], "A100-80GB");
  EXPECT_EQ(json["rows"][1]["rate"], "7");
  EXPECT_EQ(json["findings"][1]["severity"], "warning");
  EXPECT_EQ(json["findings"][1]["name"], "old_prices");
}

}  // namespace
}  // namespace ferry::ctl
