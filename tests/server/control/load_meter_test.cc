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

LoadCounts Rows(uint64_t rows) { return {.arrived_rows = rows, .served = {}}; }

TEST(LoadMeter, NothingIsKnownOfOneMoment) {
  LoadMeter meter;
  EXPECT_TRUE(std::isnan(meter.Add(At(0), Rows(100)).last_minute));
  EXPECT_TRUE(std::isnan(meter.Add(At(0.1), Rows(200)).last_5s)) << "too close";
}

TEST(LoadMeter, BeforeAMinuteHasPassedItIsOverTheTimeThatHas) {
  LoadMeter meter;
  meter.Add(At(10), Rows(1000));  // in no time
  const ArrivalRates rates = meter.Add(At(12), Rows(1300));
  EXPECT_DOUBLE_EQ(rates.last_minute, 150);
  EXPECT_DOUBLE_EQ(rates.last_5s, 150);
}

TEST(LoadMeter, WindowsAreOfAMinuteAndFiveSeconds) {
  LoadMeter meter;
  ArrivalRates rates;
  uint64_t rows = 0;
  for (int half = 0; half <= 400; ++half) {  // 10 rows/s, and 5 s of 100
    rates = meter.Add(At(half * 0.5), Rows(rows));
    rows += half < 390 ? 5 : 50;
  }
  EXPECT_DOUBLE_EQ(rates.last_5s, 100);
  EXPECT_DOUBLE_EQ(rates.last_minute, (55 * 10 + 5 * 100) / 60.0);
}

TEST(LoadMeter, CountsThatComeLateMakeTheWindowLonger) {
  LoadMeter meter;
  meter.Add(At(0), Rows(0));
  meter.Add(At(50), Rows(500));
  meter.Add(At(90), Rows(500));
  EXPECT_DOUBLE_EQ(meter.Add(At(120), Rows(800)).last_minute, 300.0 / 70);
}

TEST(LoadMeter, WhatStoppedIsForgottenInAMinute) {
  LoadMeter meter;
  meter.Add(At(0), Rows(0));
  meter.Add(At(1), Rows(1000));
  ArrivalRates rates;
  for (int second = 2; second <= 61; ++second) {
    rates = meter.Add(At(second), Rows(1000));
  }
  EXPECT_EQ(rates.last_minute, 0);
  EXPECT_EQ(rates.last_5s, 0);
}

TEST(LoadMeter, BatchesAreAsFullAsTheyWereInTheLastMinuteThatHadSome) {
  LoadMeter meter;
  const auto add = [&](double seconds, uint64_t batches, uint64_t rows) {
    return meter
        .Add(At(seconds), {.served = {.batches = batches, .rows = rows}})
        .rows_per_batch;
  };
  EXPECT_TRUE(std::isnan(add(0, 0, 0)));
  EXPECT_EQ(add(10, 1'000'000, 1'000'000), 1);
  EXPECT_EQ(add(60, 1'000'000, 1'000'000), 1) << "none since";
  EXPECT_EQ(add(80, 1'000'010, 1'000'320), 32)
      << "what was before is forgotten";
}

TEST(Capacity, InstancesCarryFullBatchesInTheTimeThatTheseTake) {
  SchedulerStatistics counted(16);
  EXPECT_TRUE(std::isnan(CapacityOf(counted, 16, false, 2, 1)))
      << "nothing was learned";
  counted.full_batch_time = Milliseconds(10);
  counted.service_time = {.alpha_ns = 1e6, .beta_ns = 0};
  EXPECT_DOUBLE_EQ(CapacityOf(counted, 16, false, 2, 1), 1600);
  EXPECT_DOUBLE_EQ(CapacityOf(counted, 16, false, 2, 3), 4800);
  EXPECT_DOUBLE_EQ(CapacityOf(counted, 0, false, 2, 1), 100)
      << "it does not batch";
}

TEST(Capacity, BatchesOfOneRequestAreByTheLineAsFullAsTheyWere) {
  SchedulerStatistics counted(16);
  counted.full_batch_time = Milliseconds(10);
  counted.service_time = {.alpha_ns = 2e6, .beta_ns = 0.5e6};
  EXPECT_DOUBLE_EQ(CapacityOf(counted, 16, true, 4, 1), 1000);  // 4 in 4 ms
  EXPECT_DOUBLE_EQ(CapacityOf(counted, 16, true, kUnknown, 1), 1600)
      << "none was served";
}

}  // namespace
}  // namespace ferry
