// LaneForecast: when a lane will be free, on one lane and on several.
#include "batcher/lane_forecast.h"

#include <gtest/gtest.h>

#include "batcher/batch.h"

namespace ferry {
namespace {

TimePoint At(double ms) { return TimePoint() + Milliseconds(ms); }

class LaneForecastTest : public ::testing::Test {
 protected:
  Batch a_{1, 1}, b_{1, 1}, c_{1, 1}, d_{1, 1};
};

TEST_F(LaneForecastTest, IdleLaneIsFreeNow) {
  LaneForecast lanes(2, 4);
  EXPECT_EQ(lanes.idle_lanes(), 2);
  EXPECT_EQ(lanes.FreeAt(At(5)), At(5));
  lanes.Started(a_, At(5), Milliseconds(3));
  EXPECT_EQ(lanes.idle_lanes(), 1);
  EXPECT_EQ(lanes.FreeAt(At(6)), At(6));
}

TEST_F(LaneForecastTest, OneLaneComputesOneAfterTheOther) {
  LaneForecast lanes(1, 4);
  lanes.Started(a_, At(0), Milliseconds(3));
  EXPECT_EQ(lanes.FreeAt(At(1)), At(3));
  lanes.Started(b_, At(1), Milliseconds(2));
  EXPECT_EQ(lanes.FreeAt(At(1)), At(5));
  lanes.Ended(a_, At(4));  // a millisecond late, and told later still
  EXPECT_EQ(lanes.idle_lanes(), 0);
  EXPECT_EQ(lanes.FreeAt(At(5)), At(6)) << "the next began when it ended";
  lanes.Ended(a_, At(4));  // known already
  EXPECT_EQ(lanes.idle_lanes(), 0);
  lanes.Ended(b_, At(5));
  EXPECT_EQ(lanes.idle_lanes(), 1);
}

TEST_F(LaneForecastTest, LateBatchIsExpectedToEndNow) {
  LaneForecast lanes(1, 4);
  lanes.Started(a_, At(0), Milliseconds(3));
  EXPECT_EQ(lanes.FreeAt(At(10)), At(10));
  lanes.Started(b_, At(10), Milliseconds(2));
  EXPECT_EQ(lanes.FreeAt(At(10)), At(12));
}

TEST_F(LaneForecastTest, LongestIsOfThoseUnderWay) {
  LaneForecast lanes(2, 4);
  EXPECT_EQ(lanes.longest(), Duration(0));
  lanes.Started(a_, At(0), Milliseconds(3));
  lanes.Started(b_, At(0), Milliseconds(2));
  EXPECT_EQ(lanes.longest(), Milliseconds(3));
  lanes.Ended(a_, At(1));
  EXPECT_EQ(lanes.longest(), Milliseconds(2));
}

TEST_F(LaneForecastTest, WaitingBatchTakesTheLaneThatIsFreeFirst) {
  LaneForecast lanes(2, 4);
  lanes.Started(a_, At(0), Milliseconds(10));
  lanes.Started(b_, At(0), Milliseconds(4));
  EXPECT_EQ(lanes.FreeAt(At(1)), At(4));
  lanes.Started(c_, At(1), Milliseconds(3));  // from 4 to 7
  EXPECT_EQ(lanes.FreeAt(At(1)), At(7));
  lanes.Started(d_, At(1), Milliseconds(9));  // from 7 to 16
  EXPECT_EQ(lanes.FreeAt(At(1)), At(10));
}

TEST_F(LaneForecastTest, BatchThatEndsBeforeItsTurnLeavesNoOtherBehind) {
  LaneForecast lanes(2, 4);
  lanes.Started(a_, At(0), Milliseconds(1000));
  lanes.Started(b_, At(0), Milliseconds(10));
  lanes.Ended(a_, At(1));  // it failed
  EXPECT_EQ(lanes.FreeAt(At(1)), At(1));
  lanes.Started(c_, At(1), Milliseconds(20));
  EXPECT_EQ(lanes.FreeAt(At(1)), At(10)) << "not a second";
}

}  // namespace
}  // namespace ferry
