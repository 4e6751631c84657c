// Tests that ArrivalRate estimates rates over two horizons.
#include "batcher/internal/arrival_rate.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

const TimePoint kStart = FromNanos(1'000'000'000);

// Arrivals of one row every `gap`, from `begin` on for that long.
TimePoint Arrive(ArrivalRate& rate, TimePoint begin, Duration gap,
                 Duration length) {
  TimePoint now = begin;
  for (; now < begin + length; now += gap) {
    rate.Add(now, 1);
  }
  return now;
}

TEST(ArrivalRate, NothingArrivedIsZero) {
  EXPECT_EQ(ArrivalRate().RowsPerNano(kStart), 0);
}

TEST(ArrivalRate, SteadyArrivalsGiveTheirRate) {
  ArrivalRate rate;
  const TimePoint now =
      Arrive(rate, kStart, Milliseconds(0.1), Milliseconds(5000));
  EXPECT_NEAR(rate.RowsPerNano(now) * 1e9, 10'000, 200);
}

TEST(ArrivalRate, RowsCountAndNotRequests) {
  ArrivalRate rate;
  for (int i = 0; i < 10'000; ++i) {
    rate.Add(kStart + Milliseconds(i), 4);
  }
  EXPECT_NEAR(rate.RowsPerNano(kStart + Milliseconds(10'000)) * 1e9, 4000, 100);
}

TEST(ArrivalRate, BurstCountsAtOnceAndLullOnlyAfterItLasts) {
  ArrivalRate rate;
  TimePoint now = Arrive(rate, kStart, Milliseconds(1), Milliseconds(5000));
  EXPECT_NEAR(rate.RowsPerNano(now) * 1e9, 1000, 50);
  now = Arrive(rate, now, Milliseconds(0.1), Milliseconds(100));
  EXPECT_GT(rate.RowsPerNano(now) * 1e9, 8000) << "the short horizon";
  now += Milliseconds(200);
  const double after = rate.RowsPerNano(now) * 1e9;
  EXPECT_GT(after, 1000) << "the long horizon";
  EXPECT_LT(after, 3000);
  EXPECT_LT(rate.RowsPerNano(now + Milliseconds(10'000)) * 1e9, 1);
}

TEST(ArrivalRate, ArrivalsOutOfOrderDoNotGoBackInTime) {
  ArrivalRate rate;
  rate.Add(kStart + Milliseconds(1), 1);
  rate.Add(kStart, 1);
  EXPECT_NEAR(rate.RowsPerNano(kStart + Milliseconds(1)),
              2.0 / static_cast<double>(ArrivalRate::kShort.count()), 1e-12);
}

}  // namespace
}  // namespace ferry
