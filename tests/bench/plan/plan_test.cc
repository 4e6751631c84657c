// Tests capacity and cost against numbers by hand, and against nonsense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "bench/plan/capacity.h"
#include "bench/plan/cost.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNoPositiveNumbers[] = {0,    -1,        1e-10,      1e13,
                                         kNan, kInfinity, -kInfinity, 5e-324};

Capacity Plan(const CapacityInput& input) {
  const auto capacity = PlanCapacity(input);
  EXPECT_TRUE(capacity.ok()) << capacity.status();
  return capacity.value_or(Capacity());
}

std::string Refusal(const CapacityInput& input) {
  return std::string(PlanCapacity(input).status().message());
}

constexpr CapacityInput kArticle = {
    .lambda_max = 200, .peak_rate = 500, .headroom = 1 / 1.2, .spares = 0};

TEST(CapacityTest, TheArticlesExampleIsThreeOrFourByTheRounding) {
  const Capacity capacity = Plan(kArticle);
  EXPECT_EQ(capacity.peak_replicas, 3) << "ceil(500 * 1.2 / 200)";
  EXPECT_EQ(capacity.peak_replicas_rounded_twice, 4) << "ceil(3 * 1.2)";
  EXPECT_EQ(capacity.replicas, 3);
  CapacityInput without_margin = kArticle;
  without_margin.headroom = 1;
  EXPECT_EQ(Plan(without_margin).peak_replicas, 3);
  EXPECT_EQ(Plan(without_margin).peak_replicas_rounded_twice, 3);
}

TEST(CapacityTest, DefaultsAddHeadroomAndASpare) {
  const Capacity capacity = Plan({.lambda_max = 200, .peak_rate = 500});
  EXPECT_DOUBLE_EQ(capacity.lambda_safe, 140);
  EXPECT_EQ(capacity.peak_replicas, 4) << "ceil(500 / 140)";
  EXPECT_EQ(capacity.peak_replicas_rounded_twice, 5) << "ceil(3 / 0.7)";
  EXPECT_EQ(capacity.replicas, 5);
  EXPECT_DOUBLE_EQ(capacity.rate_after_loss, 800);
  EXPECT_DOUBLE_EQ(capacity.burst_ratio, 1 / 0.7);
  EXPECT_TRUE(capacity.headroom_covers_loss) << "0.7 <= 1 - 1/4";
  EXPECT_TRUE(capacity.replicas_cover_loss);
}

TEST(CapacityTest, AWholeQuotientIsNotRoundedUp) {
  for (int replicas = 1; replicas <= 1000; ++replicas) {
    for (const double headroom : {0.1, 0.3, 0.7, 1 / 1.2, 0.9, 1.0}) {
      const Capacity capacity = Plan({.lambda_max = 123.4,
                                      .peak_rate = replicas * 123.4 * headroom,
                                      .headroom = headroom});
      EXPECT_EQ(capacity.peak_replicas, replicas) << headroom;
    }
  }
}

TEST(CapacityTest, HeadroomCoversALossUpToOneMinusOneByN) {
  CapacityInput input = {
      .lambda_max = 100, .peak_rate = 300, .headroom = 0.75, .spares = 0};
  EXPECT_EQ(Plan(input).peak_replicas, 4);
  EXPECT_TRUE(Plan(input).headroom_covers_loss) << "0.75 <= 1 - 1/4";
  EXPECT_TRUE(Plan(input).replicas_cover_loss);
  input.headroom = 0.76;
  EXPECT_EQ(Plan(input).peak_replicas, 4);
  EXPECT_FALSE(Plan(input).headroom_covers_loss);
  EXPECT_TRUE(Plan(input).replicas_cover_loss) << "three carry just 300";
  input.peak_rate = 301;
  EXPECT_FALSE(Plan(input).replicas_cover_loss);
  input.spares = 1;
  EXPECT_TRUE(Plan(input).replicas_cover_loss);
}

TEST(CapacityTest, OneReplicaNeverCoversItsLoss) {
  const Capacity capacity =
      Plan({.lambda_max = 100, .peak_rate = 1, .headroom = 0.01, .spares = 0});
  EXPECT_EQ(capacity.replicas, 1);
  EXPECT_FALSE(capacity.headroom_covers_loss);
  EXPECT_FALSE(capacity.replicas_cover_loss);
  EXPECT_EQ(capacity.rate_after_loss, 0);
}

TEST(CapacityTest, ALostShareLeavesEnoughForThePeak) {
  CapacityInput input = {.lambda_max = 100,
                         .peak_rate = 800,
                         .headroom = 1,
                         .spares = 0,
                         .lost_share = 0.2};
  EXPECT_EQ(Plan(input).replicas, 10) << "8 of 10 stay";
  input.lost_share = 0.21;
  EXPECT_EQ(Plan(input).replicas, 11);
  input.spares = 7;
  EXPECT_EQ(Plan(input).replicas, 15) << "the larger of both counts";
}

TEST(CapacityTest, RandomPlansFollowTheirDefinition) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(0, 5);
  std::uniform_real_distribution<double> share(0.1, 0.9);
  for (int i = 0; i < 10000; ++i) {
    const CapacityInput input = {.lambda_max = std::pow(10, exponent(random)),
                                 .peak_rate = std::pow(10, exponent(random)),
                                 .headroom = share(random),
                                 .spares = i % 3,
                                 .lost_share = share(random)};
    const Capacity plan = Plan(input);
    const double carried =
        static_cast<double>(plan.peak_replicas) * plan.lambda_safe;
    EXPECT_GE(carried, input.peak_rate * (1 - 1e-9));
    EXPECT_LT(carried - plan.lambda_safe, input.peak_rate);
    EXPECT_GE(plan.peak_replicas_rounded_twice, plan.peak_replicas);
    EXPECT_GE(static_cast<double>(plan.replicas) * (1 - input.lost_share),
              static_cast<double>(plan.peak_replicas) * (1 - 1e-9));

    CapacityInput more = input;
    more.peak_rate *= 1 + share(random);
    EXPECT_GE(Plan(more).replicas, plan.replicas) << "a higher peak";
    more = input;
    more.lambda_max *= 1 + share(random);
    EXPECT_LE(Plan(more).replicas, plan.replicas) << "faster replicas";
    more = input;
    more.headroom *= share(random);
    EXPECT_GE(Plan(more).replicas, plan.replicas) << "more room";
    more = input;
    more.lost_share *= share(random);
    EXPECT_LE(Plan(more).replicas, plan.replicas) << "fewer losses";
  }
}

TEST(CapacityTest, NonsenseIsRefusedByName) {
  for (const double wrong : kNoPositiveNumbers) {
    CapacityInput input = kArticle;
    input.lambda_max = wrong;
    EXPECT_THAT(Refusal(input), HasSubstr("lambda_max: expected")) << wrong;
    input = kArticle;
    input.peak_rate = wrong;
    EXPECT_THAT(Refusal(input), HasSubstr("peak rate: expected")) << wrong;
    input = kArticle;
    input.headroom = wrong;
    EXPECT_THAT(Refusal(input), HasSubstr("headroom: expected")) << wrong;
  }
  CapacityInput input = kArticle;
  input.headroom = 1.01;
  EXPECT_THAT(Refusal(input), HasSubstr("up to 1, got 1.01"));
  input = kArticle;
  input.spares = -1;
  EXPECT_THAT(Refusal(input), HasSubstr("spares: expected from 0"));
  for (const double wrong : {-0.1, 1.0, 2.0, kNan, kInfinity}) {
    input = kArticle;
    input.lost_share = wrong;
    EXPECT_THAT(Refusal(input), HasSubstr("lost share: expected")) << wrong;
  }
}

TEST(CapacityTest, MoreReplicasThanCanBeCountedAreRefused) {
  EXPECT_THAT(Refusal({.lambda_max = 1e-9, .peak_rate = 1e12}),
              HasSubstr("1000000000 replicas"));
  EXPECT_THAT(Refusal({.lambda_max = 1,
                       .peak_rate = 10,
                       .lost_share = std::nextafter(1, 0)}),
              HasSubstr("1000000000 replicas"));
}

TEST(UtilizationTest, IsAverageOverCapacity) {
  EXPECT_DOUBLE_EQ(*Utilization(150, 3, 200), 0.25);
  EXPECT_DOUBLE_EQ(*Utilization(600, 3, 200), 1);
  EXPECT_THAT(Utilization(601, 3, 200).status().message(),
              HasSubstr("at most the 600/s that 3 replicas carry"));
  EXPECT_FALSE(Utilization(1, 0, 200).ok());
  for (const double wrong : kNoPositiveNumbers) {
    EXPECT_FALSE(Utilization(wrong, 3, 200).ok()) << wrong;
    EXPECT_FALSE(Utilization(150, 3, wrong).ok()) << wrong;
  }
}

TEST(CostTest, EightDevicesForAYear) {
  // 14.40 an hour for an instance of eight is 1.80 each.
  EXPECT_NEAR(CostOfFleet({14.40 / 8, 8})->per_year, 126144, 1e-6);
  EXPECT_NEAR(CostOfFleet({2.40, 8})->per_year, 168192, 1e-6);
  EXPECT_NEAR(CostOfFleet({0.57, 8})->per_year, 39945.60, 1e-6);
  EXPECT_NEAR(CostOfFleet({2.45, 8})->per_year, 171696, 1e-6);
  EXPECT_NEAR(CostOfFleet({2.16, 8})->per_year, 151372.80, 1e-6);
  EXPECT_NEAR(CostOfFleet({32.77, 1})->per_hour * 48, 1572.96, 1e-9);
}

TEST(CostTest, InstancesArePaidForWhole) {
  const Fleet fleet = {
      .device_per_hour = 4.096, .replicas = 17, .devices_per_instance = 8};
  EXPECT_EQ(*Instances(fleet), 3);
  EXPECT_NEAR(CostOfFleet(fleet)->per_hour, 98.304, 1e-9) << "not 69.632";
  EXPECT_EQ(*Instances({1, 16, 8}), 2);
  EXPECT_EQ(*Instances({1, 1, 8}), 1);
  EXPECT_FALSE(CostOfFleet({1, 1, 0}).ok());
}

TEST(CostTest, AMillionRequestsAtTheAverageRate) {
  EXPECT_DOUBLE_EQ(*CostPerMillion(3.6, 1000), 1);
  EXPECT_DOUBLE_EQ(*FloorPerMillion(3.6, 2000), 0.5);
  EXPECT_DOUBLE_EQ(*Waste(0.5, 1), 0.5);
  EXPECT_DOUBLE_EQ(*Waste(1, 1), 0);
  EXPECT_THAT(Waste(1.1, 1).status().message(),
              HasSubstr("expected at least the floor of 1.1, got 1"));
}

TEST(CostTest, WasteIsWhatUtilizationLeaves) {
  const double per_hour = CostOfFleet({2.5, 7})->per_hour;
  const double waste =
      *Waste(*FloorPerMillion(2.5, 300), *CostPerMillion(per_hour, 800));
  EXPECT_NEAR(waste, 1 - *Utilization(800, 7, 300), 1e-12);
}

TEST(CostTest, ReservedAgainstOnDemand) {
  const auto year = CompareReserved({.on_demand_per_hour = 3.06,
                                     .reserved_per_hour = 1.82,
                                     .term_hours = kHoursPerYear});
  ASSERT_TRUE(year.ok()) << year.status();
  EXPECT_NEAR(year->on_demand_total, 26805.60, 1e-6);
  EXPECT_NEAR(year->reserved_total, 15943.20, 1e-6);
  EXPECT_NEAR(year->saved, 10862.40, 1e-6);
  EXPECT_NEAR(year->saved * 10, 108624, 1e-6);
  EXPECT_NEAR(year->saved_share, 0.405, 0.0005);
  EXPECT_NEAR(year->share_of_term, 1.82 / 3.06, 1e-12);
}

TEST(CostTest, UpfrontCountsAndMayNotPayOff) {
  const auto offer = CompareReserved(
      {.on_demand_per_hour = 1, .upfront = 500, .term_hours = 1000});
  EXPECT_DOUBLE_EQ(offer->share_of_term, 0.5);
  const auto dear = CompareReserved({.on_demand_per_hour = 1,
                                     .reserved_per_hour = 0.9,
                                     .upfront = 200,
                                     .term_hours = 1000});
  EXPECT_DOUBLE_EQ(dear->share_of_term, 1.1);
  EXPECT_DOUBLE_EQ(dear->saved, -100);
}

TEST(CostTest, UseAndInstancesOfAReservation) {
  const auto offer = CompareReserved({.on_demand_per_hour = 2,
                                      .reserved_per_hour = 1,
                                      .upfront = 100,
                                      .term_hours = 1000,
                                      .used_share = 0.5,
                                      .instances = 3});
  ASSERT_TRUE(offer.ok()) << offer.status();
  EXPECT_DOUBLE_EQ(offer->on_demand_total, 6000);
  EXPECT_DOUBLE_EQ(offer->reserved_total, 3300);
  EXPECT_DOUBLE_EQ(offer->saved, -300);
  EXPECT_DOUBLE_EQ(offer->saved_share, -0.1);
  EXPECT_DOUBLE_EQ(offer->share_of_term, 0.55);
}

// The totals are those of an article's table of one run. It gives the price of
// the first alone; 48 hours at the others' are what leads to their totals.
TEST(CostTest, ARunOfTwoDays) {
  EXPECT_NEAR(*CostOfRun(32.77, 1, 48), 1572.96, 1e-6);
  EXPECT_NEAR(*CostOfRun(9.00, 1, 48), 432, 1e-6);
  EXPECT_NEAR(*CostOfRun(16.00, 1, 48), 768, 1e-6);
  EXPECT_NEAR(*CostOfRun(4.80, 1, 48), 230.40, 1e-6);
  EXPECT_NEAR(*CostOfRun(6.40, 1, 48), 307.20, 1e-6);
}

TEST(CostTest, AYearOfEightDevices) {
  EXPECT_NEAR(*CostOfRun(1.80, 8, kHoursPerYear), 126'144, 1e-6);
  EXPECT_NEAR(*CostOfRun(2.40, 8, kHoursPerYear), 168'192, 1e-6);
}

TEST(CostTest, WorkDoneAgainRaisesASpotPrice) {
  EXPECT_DOUBLE_EQ(*SpotPerHour(0.25, 0), 0.25);
  EXPECT_DOUBLE_EQ(*SpotPerHour(0.25, 0.5), 0.5);
}

TEST(CostTest, HoursOff) {
  EXPECT_DOUBLE_EQ(*OffShare(168), 0);
  EXPECT_DOUBLE_EQ(*OffShare(84), 0.5);
}

TEST(CostTest, OfflineWorkIsDoneWithinItsWindows) {
  const OfflineWork work = {
      .items_per_day = 1e6, .windows_per_day = 6, .window_hours = 4, .rate = 5};
  const auto plan = PlanOffline(work);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_NEAR(plan->items_per_window, 166'666.67, 0.005);
  EXPECT_EQ(plan->devices, 3) << "of 72,000 items a window each";
  EXPECT_NEAR(plan->window_used, 166'666.67 / 216'000, 1e-6);
  EXPECT_DOUBLE_EQ(plan->device_hours_per_day, 72);
  const auto exact = PlanOffline({.items_per_day = 144'000,
                                  .windows_per_day = 1,
                                  .window_hours = 4,
                                  .rate = 5});
  EXPECT_EQ(exact->devices, 2);
  EXPECT_THAT(std::string(PlanOffline({.items_per_day = 1,
                                       .windows_per_day = 7,
                                       .window_hours = 4,
                                       .rate = 1})
                              .status()
                              .message()),
              HasSubstr("24 hours a day at most, got 7 of 4 hours"));
}

TEST(CostTest, EnergyOfAThousand) {
  EXPECT_DOUBLE_EQ(*EnergyPerThousand(500, 250), 2000);
  EXPECT_DOUBLE_EQ(*EnergyPerThousand(400 * 3, 1200), 1000)
      << "three devices of 400 W at 1200/s";
}

TEST(CostTest, SavingsOfOneAgainstAnother) {
  EXPECT_NEAR(*SavedShare(200, 84), 0.58, 1e-12);
  EXPECT_DOUBLE_EQ(*SavedShare(8800, 2200), 0.75);
  EXPECT_NEAR(*SavedShare(3.50, 1.05), 0.7, 1e-12);
  EXPECT_DOUBLE_EQ(*SavedShare(1, 1.5), -0.5);
}

TEST(CostTest, NonsenseIsRefused) {
  for (const double wrong : kNoPositiveNumbers) {
    EXPECT_FALSE(CostOfFleet({wrong, 1}).ok()) << wrong;
    EXPECT_FALSE(CostPerMillion(wrong, 1).ok()) << wrong;
    EXPECT_FALSE(CostPerMillion(1, wrong).ok()) << wrong;
    EXPECT_FALSE(FloorPerMillion(wrong, 1).ok()) << wrong;
    EXPECT_FALSE(FloorPerMillion(1, wrong).ok()) << wrong;
    EXPECT_FALSE(Waste(wrong, 1).ok()) << wrong;
    EXPECT_FALSE(Waste(1, wrong).ok()) << wrong;
    EXPECT_FALSE(EnergyPerThousand(wrong, 1).ok()) << wrong;
    EXPECT_FALSE(EnergyPerThousand(1, wrong).ok()) << wrong;
    EXPECT_FALSE(SavedShare(wrong, 1).ok()) << wrong;
    EXPECT_FALSE(SavedShare(1, wrong).ok()) << wrong;
    EXPECT_FALSE(CompareReserved({wrong, 1, 0, 1}).ok()) << wrong;
    EXPECT_FALSE(CompareReserved({1, 1, 0, wrong}).ok()) << wrong;
    EXPECT_FALSE(CompareReserved({1, wrong, 0, 1}).ok()) << wrong;
  }
  for (const double wrong : kNoPositiveNumbers) {
    EXPECT_FALSE(CostOfRun(wrong, 1, 1).ok()) << wrong;
    EXPECT_FALSE(CostOfRun(1, 1, wrong).ok()) << wrong;
    EXPECT_FALSE(SpotPerHour(wrong, 0).ok()) << wrong;
    EXPECT_FALSE(PlanOffline({wrong, 1, 1, 1}).ok()) << wrong;
    EXPECT_FALSE(PlanOffline({1, 1, wrong, 1}).ok()) << wrong;
    EXPECT_FALSE(PlanOffline({1, 1, 1, wrong}).ok()) << wrong;
  }
  for (const double wrong : {-0.1, 1.0, kNan, kInfinity}) {
    EXPECT_FALSE(SpotPerHour(1, wrong).ok()) << wrong;
  }
  for (const double wrong : {-1.0, 0.0, 168.1, kNan, kInfinity}) {
    EXPECT_FALSE(OffShare(wrong).ok()) << wrong;
  }
  for (const double wrong : {-0.1, 0.0, 1.1, kNan}) {
    EXPECT_FALSE(CompareReserved({1, 1, 0, 1, wrong}).ok()) << wrong;
  }
  EXPECT_FALSE(CompareReserved({1, 1, 0, 1, 1, 0}).ok());
  EXPECT_FALSE(CostOfRun(1, 0, 1).ok());
  EXPECT_FALSE(PlanOffline({1, 0, 1, 1}).ok());
  EXPECT_FALSE(PlanOffline({kLargestNumber, 1, 1e-9, 1e-9}).ok());
  EXPECT_FALSE(CompareReserved({1, 1, -1, 1}).ok());
  EXPECT_FALSE(CostOfFleet({1, 0}).ok());
  EXPECT_FALSE(CostOfFleet({1, kMaxReplicas + 1}).ok());
}

TEST(CostTest, WhatIsAllowedAtTheEdgesIsFinite) {
  for (const double a : {kSmallestNumber, 1.0, kLargestNumber}) {
    for (const double b : {kSmallestNumber, 1.0, kLargestNumber}) {
      EXPECT_TRUE(std::isfinite(*CostPerMillion(a, b)));
      EXPECT_TRUE(std::isfinite(*FloorPerMillion(a, b)));
      EXPECT_TRUE(std::isfinite(*EnergyPerThousand(a, b)));
      EXPECT_TRUE(std::isfinite(*SavedShare(a, b)));
      EXPECT_TRUE(std::isfinite(CompareReserved({a, b, a, b})->saved_share));
      EXPECT_TRUE(std::isfinite(CostOfFleet({a, kMaxReplicas})->per_year));
    }
  }
}

}  // namespace
}  // namespace ferry::plan
