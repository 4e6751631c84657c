// Tests the rows that OpenCost's samples make.
#include "deploy/ctl/opencost_prices.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ferry::ctl {
namespace {

TEST(OpenCostPricesTest, ARowIsOfATypeAndARegion) {
  const auto rows = PriceRowsOf(
      {{.labels = {{"instance_type", "g5.xlarge"}, {"region", "eu-west-1"}},
        .value = 0.95}},
      plan::PriceKind::kSpot);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(plan::Describe(rows[0]), "g5.xlarge, spot, eu-west-1");
  EXPECT_EQ(plan::DevicePerHour(rows[0]), 0.95);
}

TEST(OpenCostPricesTest, LabelsThatAreMissingOrHostileAreFitForATerminal) {
  const auto rows =
      PriceRowsOf({{.labels = {{"instance_type", "\x1b[31m"}}, .value = 1}},
                  plan::PriceKind::kOnDemand);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].device, "\\x1b[31m");
  EXPECT_EQ(rows[0].region, "unknown");
}

TEST(OpenCostPricesTest, WhatIsNoPriceIsNoRow) {
  EXPECT_TRUE(PriceRowsOf({{.labels = {}, .value = std::nan("")},
                           {.labels = {}, .value = HUGE_VAL},
                           {.labels = {}, .value = 0}},
                          plan::PriceKind::kOnDemand)
                  .empty());
}

}  // namespace
}  // namespace ferry::ctl
