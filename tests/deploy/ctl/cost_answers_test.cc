// Tests the answers about cost against the worked examples of published
// articles on GPU cost, and what is found and refused.
#include "deploy/ctl/cost_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kFile[] = R"({
 "currency": "USD", "as_of": "2026-11-01", "source": "articles",
 "rows": [
  {"device": "V100x4", "region": "a", "kind": "on_demand", "per_hour": 12.24,
   "devices_per_instance": 4},
  {"device": "V100x4", "region": "a", "kind": "reserved", "per_hour": 7.28,
   "devices_per_instance": 4, "term_hours": 8640},
  {"device": "V100x4", "region": "a", "kind": "reserved", "per_hour": 5.24,
   "devices_per_instance": 4, "term_hours": 25920},
  {"device": "V100", "region": "a", "kind": "on_demand", "per_hour": 3.06},
  {"device": "V100", "region": "a", "kind": "reserved", "per_hour": 1.82,
   "term_hours": 8760},
  {"device": "dear", "region": "a", "kind": "on_demand", "per_hour": 1},
  {"device": "dear", "region": "a", "kind": "reserved", "per_hour": 0.9,
   "upfront": 200, "term_hours": 1000},
  {"device": "L4", "region": "a", "kind": "on_demand", "per_hour": 0.80},
  {"device": "L4", "region": "a", "kind": "spot", "per_hour": 0.25},
  {"device": "other", "region": "a", "kind": "on_demand", "per_hour": 8,
   "devices_per_instance": 8},
  {"device": "other", "region": "a", "kind": "reserved", "per_hour": 2,
   "devices_per_instance": 4, "term_hours": 100}
 ]})";

plan::DatedPrices Given() {
  auto file = plan::ParsePrices(kFile, "p.json");
  EXPECT_TRUE(file.ok()) << file.status();
  return {.file = *std::move(file), .age_warning = ""};
}

Commitment Of(const std::string& device, double used_share = 1,
              int64_t instances = 1,
              std::optional<double> term_hours = std::nullopt) {
  return {.choice = {.device = device,
                     .term_hours = term_hours,
                     .instances = instances},
          .used_share = used_share};
}

double NumberOf(const Answer& answer, const std::string& name) {
  const auto found = std::find_if(
      answer.numbers.begin(), answer.numbers.end(),
      [&](const plan::Number& number) { return number.formula.name == name; });
  EXPECT_NE(found, answer.numbers.end()) << name;
  return found == answer.numbers.end() ? -1 : found->value;
}

std::vector<std::string> Names(const Answer& answer) {
  std::vector<std::string> names;
  for (const Finding& finding : answer.findings) {
    names.push_back(finding.name);
  }
  return names;
}

std::string Refusal(const absl::StatusOr<Answer>& answer) {
  return std::string(answer.status().message());
}

TEST(ReservedTest, ArticlesExampleForOneYearAndForThree) {
  const auto year = ReservedAnswer(Given(), Of("V100x4", 1, 2, 8640));
  ASSERT_TRUE(year.ok()) << year.status();
  EXPECT_NEAR(NumberOf(*year, "on_demand_per_month"), 17'625.60, 0.005);
  EXPECT_NEAR(NumberOf(*year, "reserved_total"), 125'798.40, 0.005);
  EXPECT_NEAR(NumberOf(*year, "saved_share"), 0.405, 0.0005);
  EXPECT_THAT(year->sentence,
              AllOf(HasSubstr("125,798.40 USD in place of 211,507.20"),
                    HasSubstr("40.5 % saved")));
  EXPECT_THAT(year->findings, IsEmpty());
  const auto years = ReservedAnswer(Given(), Of("V100x4", 1, 2, 25920));
  EXPECT_NEAR(NumberOf(*years, "saved_share"), 0.572, 0.0005);
}

TEST(ReservedTest, TermIsAskedForWhereThereAreSeveral) {
  EXPECT_THAT(Refusal(ReservedAnswer(Given(), Of("V100x4"))),
              AllOf(HasSubstr("expected a provider, region or term"),
                    HasSubstr("25920 h")));
}

TEST(ReservedTest, UseDecides) {
  EXPECT_THAT(Names(*ReservedAnswer(Given(), Of("V100", 0.61))), IsEmpty());
  const auto close = ReservedAnswer(Given(), Of("V100", 0.599));
  EXPECT_THAT(Names(*close), ElementsAre("used_for_little_of_the_term"));
  const auto less = ReservedAnswer(Given(), Of("V100", 0.59));
  EXPECT_THAT(Names(*less), ElementsAre("used_below_break_even"));
  EXPECT_EQ(less->gravest(), Severity::kCritical);
  EXPECT_THAT(less->sentence, HasSubstr("more."));
  EXPECT_LT(NumberOf(*less, "saved"), 0);
  EXPECT_THAT(Names(*ReservedAnswer(Given(), Of("dear"))),
              ElementsAre("reserved_is_never_cheaper"));
  EXPECT_THAT(Refusal(ReservedAnswer(Given(), Of("V100", 0))),
              HasSubstr("used share: expected"));
}

TEST(ReservedTest, InstancesOfOtherSizesAreNotCompared) {
  EXPECT_THAT(Refusal(ReservedAnswer(Given(), Of("other"))),
              HasSubstr("on demand as reserved, got 8 and 4"));
}

TEST(BreakEvenTest, ArticlesExample) {
  const auto one = BreakEvenAnswer(Given(), Of("V100"));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_NEAR(NumberOf(*one, "break_even_share"), 0.595, 0.0005);
  EXPECT_NEAR(NumberOf(*one, "on_demand_total"), 26'805.60, 0.005);
  EXPECT_NEAR(NumberOf(*one, "reserved_total"), 15'943.20, 0.005);
  EXPECT_THAT(one->sentence, HasSubstr("59.5 % of the hours, 5211 of 8760"));
  const auto ten = BreakEvenAnswer(Given(), Of("V100", 1, 10));
  EXPECT_NEAR(NumberOf(*ten, "saved"), 108'624, 0.005);
  EXPECT_THAT(BreakEvenAnswer(Given(), Of("dear"))->sentence,
              HasSubstr("never cheaper"));
}

TEST(SpotTest, WorkWithAnSlaIsRefused) {
  EXPECT_THAT(Refusal(SpotAnswer(Given(), {.device = "L4"}, {})),
              AllOf(HasSubstr("--interruptible"), HasSubstr("SLA")));
}

TEST(SpotTest, WorkDoneAgainRaisesThePrice) {
  const auto answer =
      SpotAnswer(Given(), {.device = "L4"}, {.is_interruptible = true});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_NEAR(NumberOf(*answer, "saved_share"), 0.6875, 1e-9);
  const auto half = SpotAnswer(Given(), {.device = "L4"},
                               {.redone_share = 0.5, .is_interruptible = true});
  EXPECT_NEAR(NumberOf(*half, "spot_per_hour"), 0.5, 1e-9);
  const auto dear =
      SpotAnswer(Given(), {.device = "L4"},
                 {.redone_share = 0.75, .is_interruptible = true});
  EXPECT_EQ(dear->gravest(), Severity::kCritical);
  EXPECT_THAT(
      Refusal(SpotAnswer(Given(), {.device = "L4"},
                         {.redone_share = 1, .is_interruptible = true})),
      HasSubstr("redone share"));
  EXPECT_THAT(Refusal(SpotAnswer(Given(), {.device = "V100"},
                                 {.is_interruptible = true})),
              HasSubstr("no price of 'V100', spot, a"));
}

TEST(ScheduleTest, HoursOfARecordingWithoutRequestsAreOff) {
  const PriceChoice choice = {.device = "L4", .instances = 10};
  const auto given = ScheduleAnswer(Given(), choice, 91);
  const auto week = RecordedScheduleAnswer(
      Given(), choice, {.all = 336, .idle = 154}, "the recording");
  ASSERT_TRUE(given.ok() && week.ok()) << week.status();
  EXPECT_EQ(week->sentence, given->sentence);
  EXPECT_EQ(week->findings.size(), given->findings.size());
  EXPECT_EQ(week->inputs.back().second, "the recording");
  const auto day = RecordedScheduleAnswer(
      Given(), choice, {.all = 24, .idle = 11, .unknown = 2}, "r");
  ASSERT_EQ(day->findings.size(), given->findings.size() + 2);
  EXPECT_EQ(day->findings[1].name, "no_whole_weeks");
  EXPECT_THAT(day->findings[2].text,
              StartsWith("2 of 24 hours have samples missing"));
  EXPECT_EQ(RecordedScheduleAnswer(Given(), choice, {.all = 2, .idle = 2}, "r")
                .status(),
            absl::FailedPreconditionError(
                "r: expected an hour with requests, found none in 2 hours: "
                "there is nothing to be on for"));
}

TEST(ScheduleTest, HoursOffAreSaved) {
  const auto answer =
      ScheduleAnswer(Given(), {.device = "L4", .instances = 10}, 5 * 20.0);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_NEAR(NumberOf(*answer, "on_demand_per_month"), 5760, 1e-6);
  EXPECT_NEAR(NumberOf(*answer, "off_share"), 68.0 / 168, 1e-9);
  EXPECT_NEAR(NumberOf(*answer, "saved_per_month"), 5760 * 68.0 / 168, 1e-6);
  EXPECT_THAT(Refusal(ScheduleAnswer(Given(), {.device = "L4"}, 169)),
              HasSubstr("at most 168, got 169"));
}

TEST(OfflineTest, AMillionItemsInSixWindows) {
  const plan::OfflineWork work = {.items_per_day = 1e6,
                                  .windows_per_day = 6,
                                  .window_hours = 4,
                                  .rate = 11.6};
  const auto answer = OfflineAnswer(work, std::nullopt, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->sentence,
              StartsWith("166667 items a window take 1 device."));
  EXPECT_NEAR(NumberOf(*answer, "items_per_window"), 166'666.67, 0.005);
  const auto priced = OfflineAnswer(work, Given(), {.device = "L4"});
  EXPECT_NEAR(NumberOf(*priced, "cost_per_day"), 24 * 0.80, 1e-9);
}

TEST(PerMillionTest, MoneyThatBuysNoRequestIsShown) {
  const auto answer = PerMillionAnswer(
      Given(), {.device = "L4", .instances = 2}, plan::PriceKind::kOnDemand,
      {.average_rate = 50, .lambda_max = 100});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_NEAR(NumberOf(*answer, "cost_per_million"), 1.6 / 180'000 * 1e6, 1e-9);
  EXPECT_NEAR(NumberOf(*answer, "utilization"), 0.25, 1e-9);
  EXPECT_NEAR(NumberOf(*answer, "waste"), 0.75, 1e-9);
  EXPECT_THAT(Refusal(PerMillionAnswer(
                  Given(), {.device = "L4"}, plan::PriceKind::kOnDemand,
                  {.average_rate = 200, .lambda_max = 100})),
              HasSubstr("expected at most the 100/s"));
}

TEST(RankTest, TheCheapestMillionIsFirst) {
  const auto answer = RankAnswer(Given(), {{"L4", 100}, {"V100", 400}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  std::vector<std::string> order;
  for (const auto& row : answer->table.rows) {
    order.push_back(row.front());
  }
  EXPECT_THAT(order, ElementsAre("L4, spot, a", "V100, reserved, a, 8760 h",
                                 "V100, on_demand, a", "L4, on_demand, a"));
  EXPECT_THAT(answer->sentence, HasSubstr("L4, spot, a, 0.6944 USD"));
  EXPECT_THAT(Names(*answer),
              ElementsAre("not_measured", "spot_is_not_for_serving"));
  EXPECT_THAT(Refusal(RankAnswer(Given(), {{"H100", 1}})),
              HasSubstr("no price of 'H100'"));
}

TEST(CostAnswersTest, OldPricesAreAFinding) {
  plan::DatedPrices prices = Given();
  prices.age_warning = "prices are old";
  EXPECT_THAT(Names(*BreakEvenAnswer(prices, Of("V100"))),
              ElementsAre("old_prices"));
}

}  // namespace
}  // namespace ferry::ctl
