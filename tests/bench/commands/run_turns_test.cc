// Tests the order of turns, and the loads of each.
#include "bench/commands/run_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RunTurnsTest, RoundsGoToAndFro) {
  EXPECT_THAT(TurnsOf(1, 1, 1), ElementsAre(Turn{0, 0, 0}));
  EXPECT_THAT(TurnsOf(3, 2, 1),
              ElementsAre(Turn{0, 0, 0}, Turn{0, 1, 0}, Turn{1, 1, 0},
                          Turn{1, 0, 0}, Turn{2, 0, 0}, Turn{2, 1, 0}));
  EXPECT_THAT(TurnsOf(2, 1, 3),
              ElementsAre(Turn{0, 0, 0}, Turn{0, 0, 1}, Turn{0, 0, 2},
                          Turn{1, 0, 2}, Turn{1, 0, 1}, Turn{1, 0, 0}));
}

TEST(RunTurnsTest, SharesOfSaturationAreTheFirstTurnsRates) {
  SweepOptions first;
  first.outstanding = {1};
  first.rates = {50};
  first.loads = {0.5, 0.8};
  first.seed = 7;
  RunResult run;
  run.saturation_rate = 1000;
  const SweepOptions same = LoadsOfTurn(first, run, {0, 1, 0});
  EXPECT_THAT(same.outstanding, ElementsAre(1, first.saturation_outstanding))
      << "all loads of the first turn, its loop for saturation too";
  EXPECT_THAT(same.rates, ElementsAre(50, 500, 800));
  EXPECT_THAT(same.loads, IsEmpty());
  EXPECT_EQ(same.seed, 7U);
  EXPECT_EQ(LoadsOfTurn(first, run, {2, 0, 0}).seed, 13U);
  run.saturation_rate = 0;  // none was found: shares of nothing
  EXPECT_THAT(LoadsOfTurn(first, run, {1, 0, 0}).rates, ElementsAre(50));
}

}  // namespace
}  // namespace ferry::bench
