// Tests what points cost, which have a cost, and which of them count.
#include "bench/report/money.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/report/report_html.h"

namespace ferry::bench {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PointResult Open(double achieved_rate) {
  PointResult point;
  point.loop = "open";
  point.target_rate = point.offered_rate = 700;
  point.achieved_rate = achieved_rate;
  point.planned = point.ok = 7000;
  point.latency.p99_us = 12'000;
  return point;
}

PagePrice Price() {
  return {.currency = "EUR",
          .row = "L4, on_demand, <here>",
          .as_of = "2026-01-31",
          .source = "a list",
          .age_warning = "is old",
          .device_per_hour = 2.52};
}

RunResult RunOf(std::vector<PointResult> points) {
  RunResult run;
  run.label = "on";
  run.model = "mlp";
  run.points = std::move(points);
  return run;
}

std::string Page(const RunResult& run, std::optional<double> slo_ms) {
  const auto page = ToHtml({run}, {.slo_ms = slo_ms, .price = Price()});
  EXPECT_TRUE(page.ok()) << page.status();
  return page.value_or("");
}

TEST(MoneyTest, CostsAreOfOneDeviceAtEachRate) {
  const RunResult run = RunOf({Open(700), Open(700)});
  const auto costs = CostOfPoints({run}, Price());
  ASSERT_EQ(costs.size(), 2U);
  EXPECT_DOUBLE_EQ(costs[0].per_million, 1.0);  // 2.52 / (3600 * 700) * 1e6
  EXPECT_THAT(MakeMoneyTable({run}, Price()).rows,
              Contains(ElementsAre("on", "open, 700/s", "700", "0 %", "12.00",
                                   "1", "1000000")));
  EXPECT_THAT(
      Page(run, std::nullopt),
      AllOf(HasSubstr("id=\"money\""), HasSubstr("L4, on_demand, &lt;here&gt;"),
            HasSubstr("is old"), HasSubstr("as of 2026-01-31")));
}

TEST(MoneyTest, WhoCannotGoOnLikeThatHasNoCost) {
  RunResult run = RunOf({Open(700), Open(700), Open(420)});
  run.points[1].unsteady = "the median latency went up";
  const auto costs = CostOfPoints({run}, Price());
  ASSERT_EQ(costs.size(), 1U) << "of the third the queue grew";
  EXPECT_EQ(costs[0].place, (PointPlace{0, 0}));
}

// Whether each cost's dot on the page is hollow.
std::vector<bool> Hollow(const RunResult& run, std::optional<double> slo_ms) {
  const std::string page = Page(run, slo_ms);
  const std::string key = "\"hollow\":";
  std::vector<bool> hollow;
  for (size_t at = page.find(key); at != std::string::npos;
       at = page.find(key, at + 1)) {
    hollow.push_back(page.compare(at + key.size(), 4, "true") == 0);
  }
  return hollow;
}

TEST(MoneyTest, WhatIsLateOrShedsLoadIsHollow) {
  RunResult run = RunOf({Open(700), Open(700)});
  EXPECT_THAT(Hollow(run, std::nullopt), ElementsAre(false, false));
  run.points[0].latency.p99_us = 30'000;
  EXPECT_THAT(Hollow(run, 20), ElementsAre(true, false));
  run.points[1].ok = 3500;
  run.points[1].errors["RESOURCE_EXHAUSTED"] = 3500;
  EXPECT_THAT(Hollow(run, 50), ElementsAre(false, true));
  EXPECT_THAT(Hollow(run, std::nullopt), ElementsAre(false, true));
}

}  // namespace
}  // namespace ferry::bench
