// Tests how a measured point becomes a plan's numbers, its words and its JSON.
#include "bench/commands/plan_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/commands/plan_text.h"

namespace ferry::bench {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

SloPoint Limit(const std::string& label, double rate) {
  SloPoint limit;
  limit.label = label;
  limit.model = "mlp";
  limit.point.loop = "open";
  limit.point.target_rate = rate;
  limit.point.achieved_rate = rate;
  limit.point.planned = limit.point.ok = 5000;
  limit.point.latency.p99_us = 12345;
  return limit;
}

PlanRequest Request() {
  return {.slo_p99_ms = 20, .peak_rate = 500, .average_rate = 250};
}

PlanPrice Price() {
  PlanPrice price;
  price.currency = "EUR";
  price.as_of = "2026-01-31";
  price.source = "a page";
  price.row = {.device = "L4",
               .region = "east",
               .per_hour = 7.2,
               .devices_per_instance = 8};
  return price;
}

PlanReport Report(const PlanRequest& request,
                  const std::optional<PlanPrice>& price) {
  PlanReport report;
  report.request = request;
  report.price = price;
  const auto plan = MakePlan(Limit("on", 200), request, price);
  EXPECT_TRUE(plan.ok()) << plan.status();
  report.plan = plan.value_or(Plan());
  return report;
}

PlanReport WithBefore(PlanReport report, double rate) {
  const auto before =
      MakePlan(Limit("off", rate), report.request, report.price);
  EXPECT_TRUE(before.ok()) << before.status();
  report.before = before.value_or(Plan());
  return report;
}

std::string Refusal(const PlanRequest& request) {
  return std::string(
      MakePlan(Limit("on", 200), request, Price()).status().message());
}

TEST(PlanResultTest, NumbersOfAPeakAnAverageAndAPrice) {
  const Plan plan = Report(Request(), Price()).plan;
  EXPECT_EQ(plan.Find(plan::kLambdaMax), 200);
  EXPECT_EQ(plan.Find(plan::kPeakReplicas), 4);
  EXPECT_EQ(plan.Find(plan::kRoundedTwice), 5);
  EXPECT_EQ(plan.Find(plan::kReplicas), 5);
  EXPECT_EQ(plan.Find(plan::kUtilization), 0.25);
  EXPECT_NEAR(*plan.Find(plan::kDevicePerHour), 0.9, 1e-12);
  EXPECT_NEAR(*plan.Find(plan::kCostPerHour), 7.2, 1e-12);
  EXPECT_EQ(plan.Find(plan::kInstances), 1) << "of 8 devices, 5 of them used";
  EXPECT_NEAR(*plan.Find(plan::kCostPerMillion), 8, 1e-12);
  EXPECT_NEAR(*plan.Find(plan::kFloorPerMillion), 1.25, 1e-12);
  EXPECT_NEAR(*plan.Find(plan::kWaste), 1 - 1.25 / 8, 1e-12);
  EXPECT_EQ(plan.Find(plan::kBreakEvenShare), std::nullopt);
  EXPECT_EQ(plan.Find(plan::kEnergyPerThousand), std::nullopt);
}

TEST(PlanResultTest, WithoutAPeakOnlyWhatOneReplicaCarries) {
  const PlanReport report = Report({.slo_p99_ms = 20}, Price());
  EXPECT_EQ(report.plan.Find(plan::kReplicas), std::nullopt);
  EXPECT_EQ(report.plan.Find(plan::kCostPerHour), std::nullopt);
  EXPECT_TRUE(report.plan.Find(plan::kFloorPerMillion).has_value());
  EXPECT_EQ(PlanAnswer(report),
            "One replica of 'on' carries 200 requests/s within p99 <= 20 ms.");
  EXPECT_THAT(PlanAnswer(WithBefore(report, 50)),
              HasSubstr("Before, one of 'off' carried 50: 4.00x."));
}

TEST(PlanResultTest, EnergyIsOfAllReplicas) {
  PlanRequest request = Request();
  request.power_w = 100;
  EXPECT_EQ(Report(request, std::nullopt).plan.Find(plan::kEnergyPerThousand),
            2000)
      << "5 devices of 100 W at 250/s";
}

TEST(PlanResultTest, EnergyThatWasCountedIsTaken) {
  SloPoint limit = Limit("on", 200);
  limit.point.window_s = 10;
  limit.point.device = DeviceSummary{.energy_j = 500};
  const auto plan = MakePlan(limit, {.slo_p99_ms = 20}, std::nullopt);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->Find(plan::kEnergyPerThousand), 250)
      << "500 J, 2,000 of them";
  EXPECT_THAT(plan->notes, Contains(HasSubstr("what the whole GPU took")));
  PlanRequest request = Request();
  request.power_w = 100;
  EXPECT_EQ(
      MakePlan(limit, request, std::nullopt)->Find(plan::kEnergyPerThousand),
      2000)
      << "what was given comes first";
}

TEST(PlanResultTest, MoneyIsSavedByWholeInstances) {
  PlanReport report = WithBefore(Report(Request(), Price()), 50);
  EXPECT_EQ(report.before->Find(plan::kReplicas), 16);
  EXPECT_NEAR(*SavedShare(report), 0.5, 1e-12) << "2 instances, and now 1";
  report = WithBefore(Report(Request(), std::nullopt), 50);
  EXPECT_NEAR(*SavedShare(report), 1 - 5.0 / 16, 1e-12);
}

TEST(PlanResultTest, ReservedIsComparedWithOnDemand) {
  PlanPrice price = Price();
  price.on_demand = price.row;
  price.row.kind = plan::PriceKind::kReserved;
  price.row.per_hour = 3.6;
  price.row.upfront = 720;
  price.row.term_hours = 1000;
  const Plan plan = Report(Request(), price).plan;
  EXPECT_NEAR(*plan.Find(plan::kBreakEvenShare), 0.6, 1e-12);
  EXPECT_THAT(plan.notes,
              Contains(HasSubstr("reserved saves 40.0 % of on demand")));
  EXPECT_THAT(PlanText(Report(Request(), price)),
              HasSubstr("3.600 EUR an hour and 720 EUR upfront for 1000 hours, "
                        "devices: 8;"));
}

TEST(PlanResultTest, OverheadsAreInTheCostAndNamed) {
  PlanPrice price = Price();
  price.overheads = "power, 25 % of the price";
  price.row.overhead_share = 0.25;
  EXPECT_NEAR(*Report(Request(), price).plan.Find(plan::kDevicePerHour),
              0.9 * 1.25, 1e-12);
  EXPECT_THAT(PlanText(Report(Request(), price)),
              HasSubstr("7.200 EUR an hour, devices: 8; overheads beside: "
                        "power, 25 % of the price; as of"));
  price.on_demand = price.row;
  price.row.kind = plan::PriceKind::kReserved;
  price.row.per_hour = 3.6;
  price.row.term_hours = 1000;
  price.row.overhead_per_hour = 0.1;
  EXPECT_NEAR(*Report(Request(), price).plan.Find(plan::kBreakEvenShare),
              (0.45 * 1.25 + 0.1) / (0.9 * 1.25), 1e-12);
}

TEST(PlanResultTest, NotesSayWhatIsPaidAndWhatIsRisked) {
  PlanPrice price = Price();
  price.row.kind = plan::PriceKind::kSpot;
  PlanRequest request = Request();
  const Plan plan = Report(request, price).plan;
  EXPECT_THAT(plan.notes,
              Contains(HasSubstr("is 4, rounded once, which is used; "
                                 "rounded twice it would be 5")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("headroom 0.7 is at most 1 - 1/4"
                                             ": it covers the loss")));
  EXPECT_THAT(plan.notes,
              Contains(HasSubstr("paid for whole: 3 of 8 are idle")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("spot devices are taken away")));
  EXPECT_THAT(plan.notes,
              Contains(HasSubstr("one instance holds all 5 replicas")));
  price.row.devices_per_instance = 4;
  EXPECT_THAT(Report(request, price).plan.notes,
              Contains(HasSubstr("takes up to 4 of 5 replicas: --lost-share "
                                 "0.8 plans for that")));
  price.row.devices_per_instance = 1;
  EXPECT_THAT(Report(request, price).plan.notes,
              Not(Contains(AnyOf(HasSubstr("idle"), HasSubstr("instance")))));
  price.row.devices_per_instance = 5;
  EXPECT_THAT(Report(request, price).plan.notes,
              Not(Contains(HasSubstr("idle"))));
  request.headroom = 0.9;
  EXPECT_THAT(Report(request, price).plan.notes,
              Contains(HasSubstr("0.9 is above 1 - 1/3: it does not cover the "
                                 "loss of one replica; 4 replicas do")));
  request.spares = 0;
  EXPECT_THAT(Report(request, price).plan.notes,
              Contains(HasSubstr("400.0 requests/s of the peak's 500.0")));
}

TEST(PlanResultTest, NonsenseIsRefused) {
  PlanRequest request = Request();
  request.average_rate = 501;
  EXPECT_THAT(Refusal(request), HasSubstr("at most the peak rate of 500/s"));
  request.average_rate = 0;
  EXPECT_THAT(Refusal(request), HasSubstr("average rate: expected"));
  request = Request();
  request.peak_rate.reset();
  EXPECT_THAT(Refusal(request),
              HasSubstr("average rate: expected a peak rate beside it"));
  request.average_rate.reset();
  request.power_w = 100;
  EXPECT_THAT(Refusal(request), HasSubstr("power: expected an average rate"));
  request = Request();
  request.power_w = -1;
  EXPECT_THAT(Refusal(request), HasSubstr("power: expected a number above 0"));
  request = Request();
  request.headroom = 1.5;
  EXPECT_THAT(Refusal(request), HasSubstr("headroom: expected"));
  request = Request();
  request.lost_share = 1;
  EXPECT_THAT(Refusal(request), HasSubstr("lost share: expected"));
}

TEST(PlanResultTest, RequestsOfOtherSizesDoNotCompare) {
  Plan before = Report(Request(), Price()).plan;
  const Plan after = before;
  EXPECT_TRUE(CheckComparable(before, after).ok());
  before.limit.rows_per_request = 8;
  EXPECT_THAT(CheckComparable(before, after).message(),
              HasSubstr("expected requests of 1 rows, got 8"));
}

TEST(PlanTextTest, AnswersInASentence) {
  const PlanReport report = Report(Request(), Price());
  EXPECT_EQ(PlanAnswer(report),
            "A peak of 500 requests/s within p99 <= 20 ms takes 5 replicas of "
            "'on', for 7.20 EUR an hour, 8 EUR a million requests.");
  EXPECT_THAT(PlanAnswer(WithBefore(report, 40)),
              HasSubstr(" Before it took 19 replicas of 'off', for 21.60 EUR "
                        "an hour, 24 EUR a million requests: 66.7 % saved."));
  EXPECT_THAT(PlanAnswer(WithBefore(Report(Request(), std::nullopt), 300)),
              HasSubstr("25.0 % more."));
}

TEST(PlanTextTest, ShowsEachNumberItsFormulaAndItsSource) {
  PlanReport report = Report(Request(), Price());
  report.price->age_warning = "prices are old";
  const std::string text = PlanText(WithBefore(report, 40));
  for (const plan::Number& number : report.plan.numbers) {
    EXPECT_THAT(text, HasSubstr("\n" + std::string(number.formula.name)));
    EXPECT_THAT(text, HasSubstr(std::string(number.formula.name) + " = " +
                                number.formula.expression +
                                "\n      source: " + number.formula.source));
  }
  EXPECT_THAT(text, HasSubstr("'on', model mlp, open, 200/s: 200 requests/s, "
                              "p99 12.35 ms"));
  EXPECT_THAT(text, HasSubstr("L4, on_demand, east: 7.200 EUR an hour"));
  EXPECT_THAT(text, HasSubstr("as of 2026-01-31, source: a page"));
  EXPECT_THAT(text, HasSubstr("note: prices are old"));
  EXPECT_THAT(text, HasSubstr("note: before: "));
  EXPECT_THAT(text, Not(HasSubstr("currency")));
}

TEST(PlanTextTest, SimulatedDevicesAndOtherModelsAreSaid) {
  PlanReport report = WithBefore(Report(Request(), Price()), 40);
  EXPECT_THAT(PlanText(report), Not(HasSubstr("imulated")));
  report.plan.limit.is_simulated = true;
  report.before->limit.model = "other";
  EXPECT_THAT(PlanAnswer(report), HasSubstr("On a simulated device: A peak"));
  EXPECT_THAT(PlanNotes(report),
              Contains(HasSubstr("before and after are of different models")));
}

TEST(PlanTextTest, JsonHasWhatTheTextHas) {
  const PlanReport report = WithBefore(Report(Request(), Price()), 40);
  const std::string json = PlanJson(report, "ferry-bench plan", "2026-02-01");
  EXPECT_THAT(json, HasSubstr("\"format\": \"ferry-bench-plan/1\""));
  EXPECT_THAT(json, HasSubstr("\"command\": \"ferry-bench plan\""));
  EXPECT_THAT(json, HasSubstr("\"replicas\": 5.0"));
  EXPECT_THAT(json, HasSubstr("\"replicas\": 19.0"));
  EXPECT_THAT(json, HasSubstr("\"saved_share\": 0.66"));
  EXPECT_THAT(json, HasSubstr("\"as_of\": \"2026-01-31\""));
  EXPECT_THAT(json, HasSubstr(plan::kReplicas.expression));
  const std::string without =
      PlanJson(Report({.slo_p99_ms = 20}, std::nullopt), "", "");
  EXPECT_THAT(without, HasSubstr("\"price\": null"));
  EXPECT_THAT(without, HasSubstr("\"before\": null"));
  EXPECT_THAT(without, HasSubstr("\"peak_rate\": null"));
}

}  // namespace
}  // namespace ferry::bench
