// LaneForecast: when a lane will be free, on one lane and on several.
#include "batcher/lane_forecast.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TimePoint At(double ms) { return TimePoint() + Milliseconds(ms); }

TEST(LaneForecast, IdleLaneIsFreeNow) {
  LaneForecast lanes(2, 4);
  EXPECT_EQ(lanes.idle_lanes(), 2);
  EXPECT_EQ(lanes.FreeAt(At(5)), At(5));
  lanes.Started(At(5), Milliseconds(3));
  EXPECT_EQ(lanes.idle_lanes(), 1);
  EXPECT_EQ(lanes.FreeAt(At(6)), At(6));
}

TEST(LaneForecast, OneLaneComputesOneAfterTheOther) {
  LaneForecast lanes(1, 4);
  lanes.Started(At(0), Milliseconds(3));
  EXPECT_EQ(lanes.FreeAt(At(1)), At(3));
  lanes.Started(At(1), Milliseconds(2));
  EXPECT_EQ(lanes.FreeAt(At(1)), At(5));
  lanes.Ended(At(4));  // a millisecond late
  EXPECT_EQ(lanes.idle_lanes(), 0);
  EXPECT_EQ(lanes.FreeAt(At(4)), At(6)) << "the next began only then";
  lanes.Ended(At(5));
  EXPECT_EQ(lanes.idle_lanes(), 1);
}

TEST(LaneForecast, LateBatchIsExpectedToEndNow) {
  LaneForecast lanes(1, 4);
  lanes.Started(At(0), Milliseconds(3));
  EXPECT_EQ(lanes.FreeAt(At(10)), At(10));
  lanes.Started(At(10), Milliseconds(2));
  EXPECT_EQ(lanes.FreeAt(At(10)), At(12));
}

TEST(LaneForecast, WaitingBatchTakesTheLaneThatIsFreeFirst) {
  LaneForecast lanes(2, 4);
  lanes.Started(At(0), Milliseconds(10));
  lanes.Started(At(0), Milliseconds(4));
  EXPECT_EQ(lanes.FreeAt(At(1)), At(4));
  lanes.Started(At(1), Milliseconds(3));  // from 4 to 7
  EXPECT_EQ(lanes.FreeAt(At(1)), At(7));
  lanes.Started(At(1), Milliseconds(9));  // from 7 to 16
  EXPECT_EQ(lanes.FreeAt(At(1)), At(10));
}

TEST(LaneForecastDeathTest, EndOfWhatWasNotStartedIsABug) {
  LaneForecast lanes(1, 1);
  EXPECT_DEATH(lanes.Ended(At(0)), "what ends was started");
}

}  // namespace
}  // namespace ferry
