// Tests rates of arrivals over a minute and 5 s, and what instances carry.
#include "server/control/load_meter.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ferry {
namespace {

TimePoint At(double seconds) {
  return TimePoint() + std::chrono::duration_cast<Duration>(
                           std::chrono::duration<double>(seconds));
}

TEST(LoadMeter, NothingIsKnownOfOneMoment) {
  LoadMeter meter;
  EXPECT_TRUE(std::isnan(meter.Add(At(0), 100).last_minute));
  EXPECT_TRUE(std::isnan(meter.Add(At(0.1), 200).last_5s)) << "too close";
}

TEST(LoadMeter, BeforeAMinuteHasPassedItIsOverTheTimeThatHas) {
  LoadMeter meter;
  meter.Add(At(10), 1000);  // in no time
  const ArrivalRates rates = meter.Add(At(12), 1300);
  EXPECT_DOUBLE_EQ(rates.last_minute, 150);
  EXPECT_DOUBLE_EQ(rates.last_5s, 150);
}

TEST(LoadMeter, WindowsAreOfAMinuteAndFiveSeconds) {
  LoadMeter meter;
  ArrivalRates rates;
  uint64_t rows = 0;
  for (int half = 0; half <= 400; ++half) {  // 10 rows/s, and 5 s of 100
    rates = meter.Add(At(half * 0.5), rows);
    rows += half < 390 ? 5 : 50;
  }
  EXPECT_DOUBLE_EQ(rates.last_5s, 100);
  EXPECT_DOUBLE_EQ(rates.last_minute, (55 * 10 + 5 * 100) / 60.0);
}

TEST(LoadMeter, CountsThatComeLateMakeTheWindowLonger) {
  LoadMeter meter;
  meter.Add(At(0), 0);
  meter.Add(At(50), 500);
  meter.Add(At(90), 500);
  EXPECT_DOUBLE_EQ(meter.Add(At(120), 800).last_minute, 300.0 / 70);
}

TEST(LoadMeter, WhatStoppedIsForgottenInAMinute) {
  LoadMeter meter;
  meter.Add(At(0), 0);
  meter.Add(At(1), 1000);
  ArrivalRates rates;
  for (int second = 2; second <= 61; ++second) {
    rates = meter.Add(At(second), 1000);
  }
  EXPECT_EQ(rates.last_minute, 0);
  EXPECT_EQ(rates.last_5s, 0);
}

TEST(Capacity, InstancesCarryFullBatchesByTheLineThatWasLearned) {
  const ServiceTimeLine line = {.alpha_ns = 2e6, .beta_ns = 0.5e6};
  EXPECT_DOUBLE_EQ(CapacityOf(line, 16, 1), 1600);  // 16 in 10 ms
  EXPECT_DOUBLE_EQ(CapacityOf(line, 16, 3), 4800);
  EXPECT_DOUBLE_EQ(CapacityOf(line, 1, 1), 400);
  EXPECT_TRUE(std::isnan(CapacityOf({}, 16, 1))) << "nothing was learned";
}

TEST(Capacity, BatchesOfOneRequestAreAsFullAsTheyWere) {
  BatchStatistics served(16);
  EXPECT_EQ(FullBatchRows(served, 16, 1), 16) << "none was served";
  served.by_rows[2].batches.Add(3);
  served.by_rows[4].batches.Add(1);
  EXPECT_EQ(FullBatchRows(served, 16, 1), 2.5);
  EXPECT_EQ(FullBatchRows(served, 16, 100), 16);
  EXPECT_EQ(FullBatchRows(served, 0, 100), 1) << "it does not batch";
}

}  // namespace
}  // namespace ferry
