// Tests the comparison of MIG slices with one process and with MPS.
#include "deploy/ctl/mig_plan_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/ctl/mig_artifacts.h"

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t k1g = 0;
constexpr size_t k3g = 4;

MigQuestion Of(const std::vector<plan::MigModel>& models) {
  return {.device = *plan::FindMigDevice("H200"),
          .file = {.source = "made up", .models = models}};
}

plan::MigModel Model(const std::string& name, double peak_rate) {
  plan::MigModel model = {
      .name = name, .peak_rate = peak_rate, .memory_mib = 3000};
  model.rates[k1g] = 100;
  model.whole_rate = 1000;
  model.mps_rate = 900;
  return model;
}

// Three models of 1,000 requests a day, twenty times that at the peak.
std::vector<plan::MigModel> SmallModels() {
  const double peak = 1000.0 / 86'400 * 20;
  return {Model("a", peak), Model("b", peak), Model("c", peak)};
}

std::vector<std::string> Names(const Answer& answer) {
  std::vector<std::string> names;
  for (const Finding& finding : answer.findings) {
    names.push_back(finding.name);
  }
  return names;
}

double NumberOf(const Answer& answer, const std::string& name) {
  for (const plan::Number& number : answer.numbers) {
    if (number.formula.name == name) {
      return number.value;
    }
  }
  ADD_FAILURE() << name;
  return -1;
}

TEST(MigPlanAnswerTest, ThreeModelsOfAThousandRequestsADay) {
  const auto answer = MigPlanAnswer(Of(SmallModels()), std::nullopt);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sentence,
            "The cheapest is one process, 1 device (one process: 1 device, "
            "MPS: 1 device, MIG: 1 device).");
  EXPECT_EQ(NumberOf(*answer, "mig_devices"), 1);
  EXPECT_EQ(NumberOf(*answer, "sms_held"), 48);
  EXPECT_THAT(AnswerText(*answer),
              AllOf(HasSubstr("slices of device 0: 1g.18gb: a; 1g.18gb: b; "
                              "1g.18gb: c"),
                    HasSubstr("the slices hold 48 of 132 SMs; 7 of 1g.18gb "
                              "hold 112 of the 132 of one H200-141GB"),
                    HasSubstr("a slice cannot borrow"),
                    HasSubstr("a: 1g.18gb+me, 1g.35gb")));
  EXPECT_THAT(Names(*answer), Contains("only_mig_isolates"));
  EXPECT_EQ(answer->gravest(), Severity::kNote);
}

TEST(MigPlanAnswerTest, SevenSlicesHold112Of132Sms) {
  const auto answer = MigPlanAnswer(Of({Model("a", 490)}), std::nullopt);
  EXPECT_THAT(AnswerText(*answer), HasSubstr("hold 112 of 132 SMs"));
}

TEST(MigPlanAnswerTest, FewestDevicesAreChosen) {
  plan::MigModel slow = Model("a", 630);
  slow.whole_rate = 500;
  slow.mps_rate = 500;
  slow.rates[k3g] = 450;
  EXPECT_THAT(MigPlanAnswer(Of({slow}), std::nullopt)->sentence,
              StartsWith("The cheapest is MIG, 1 device (one process: 2"));
}

TEST(MigPlanAnswerTest, WhatWasNotMeasuredIsUnknown) {
  auto models = SmallModels();
  models[1].mps_rate = 0;
  const auto answer = MigPlanAnswer(Of(models), std::nullopt);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->sentence, HasSubstr("MPS: unknown, MIG: 1"));
  EXPECT_EQ(answer->table.rows[1].back(), "unknown");
  EXPECT_THAT(AnswerText(*answer),
              HasSubstr("MPS is not compared: no rate of model 'b' measured by "
                        "MPS"));
}

TEST(MigPlanAnswerTest, NothingMeasuredIsNoAnswer) {
  const auto answer = MigPlanAnswer(
      Of({{.name = "a", .peak_rate = 1, .memory_mib = 1}}), std::nullopt);
  EXPECT_TRUE(absl::IsFailedPrecondition(answer.status()));
  EXPECT_THAT(std::string(answer.status().message()),
              AllOf(HasSubstr("one process: no rate"), HasSubstr("MIG: model "
                                                                 "'a'")));
}

TEST(MigPlanAnswerTest, LayoutsThatCannotExistAreRefused) {
  MigQuestion question = Of(SmallModels());
  question.layout = {"4g.71gb", "4g.71gb"};
  EXPECT_THAT(
      std::string(MigPlanAnswer(question, std::nullopt).status().message()),
      HasSubstr("layout: expected at most 1 of 4g.71gb on one H200-141GB"));
  question.layout = {"2g.35gb", "1g.18gb", "1g.18gb", "1g.18gb"};
  const auto answer = MigPlanAnswer(question, std::nullopt);
  EXPECT_THAT(AnswerText(*answer), HasSubstr("device 0: 2g.35gb: free; "));
}

TEST(MigPlanAnswerTest, ArtifactIsThatOfTheSlices) {
  MigQuestion question = Of(SmallModels());
  question.artifact = kMigPartedArtifact;
  EXPECT_THAT(MigPlanAnswer(question, std::nullopt)->artifact,
              HasSubstr("\"1g.18gb\": 3"));
  question.file.models[0].rates = {};
  const auto none = MigPlanAnswer(question, std::nullopt);
  EXPECT_TRUE(absl::IsFailedPrecondition(none.status())) << none.status();
}

TEST(MigPlanAnswerTest, MoneyOfEachWay) {
  const auto file = plan::ParsePrices(
      R"({"currency": "USD", "as_of": "2026-11-01", "source": "made up",
          "rows": [{"device": "H200", "region": "a", "kind": "on_demand",
                    "per_hour": 3}]})",
      "p.json");
  ASSERT_TRUE(file.ok()) << file.status();
  MigPrices prices = {.file = {.file = *file, .age_warning = "old"},
                      .query = {.device = "H200"}};
  plan::MigModel model = Model("a", 1000);
  model.mps_rate = 0;
  const auto answer = MigPlanAnswer(Of({model}), prices);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->table.headings.back(), "USD/h");
  EXPECT_EQ(answer->table.rows[0].back(), "6");
  EXPECT_EQ(answer->table.rows[1].back(), "unknown");
  EXPECT_EQ(answer->table.rows[2].back(), "9") << "15 slices of 70/s";
  EXPECT_THAT(Names(*answer), Contains("old_prices"));
  prices.query.device = "L4";
  EXPECT_TRUE(absl::IsNotFound(MigPlanAnswer(Of({model}), prices).status()));
}

}  // namespace
}  // namespace ferry::ctl
