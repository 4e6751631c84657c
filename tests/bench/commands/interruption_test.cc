// Tests how many of how many loads Ctrl-C is said to leave out.
#include "bench/commands/interruption.h"

#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

TEST(InterruptionTest, CountsTheLoadsOfASweep) {
  SweepOptions options;
  EXPECT_EQ(CountLoads(options), 0U);
  options.outstanding = {1, 8};
  options.rates = {500};
  EXPECT_EQ(CountLoads(options), 3U);
  options.loads = {0.5, 0.7};
  EXPECT_EQ(CountLoads(options), 6U) << "the loop for the saturation is one";
  options.saturation_outstanding = 8;
  EXPECT_EQ(CountLoads(options), 5U);
  options.offline = OfflineQuery();
  EXPECT_EQ(CountLoads(options), 6U);
}

PointResult Measured(uint64_t planned, bool interrupted) {
  PointResult point;
  point.planned = planned;
  point.interrupted = interrupted;
  return point;
}

TEST(InterruptionTest, SaysWhatIsMissing) {
  const PointResult whole = Measured(100, false);
  const PointResult cut = Measured(50, true);
  const PointResult in_warm_up = Measured(0, true);
  RunResult run;
  run.points = {whole, whole};
  EXPECT_EQ(DescribeInterruption(2, {run}), "");
  EXPECT_EQ(DescribeInterruption(4, {run, run}), "");
  EXPECT_EQ(DescribeInterruption(3, {run}),
            "interrupted: 1 of 3 loads was not measured");
  run.points = {whole, cut};
  EXPECT_EQ(DescribeInterruption(2, {run}),
            "interrupted: 1 of 2 loads was cut short");
  EXPECT_EQ(DescribeInterruption(4, {run}),
            "interrupted: 2 of 4 loads were not measured, 1 was cut short");
  run.points = {whole, in_warm_up};
  EXPECT_EQ(DescribeInterruption(2, {run}),
            "interrupted: 1 of 2 loads was not measured");
  EXPECT_EQ(DescribeInterruption(1, {}),
            "interrupted: 1 of 1 load was not measured");
}

}  // namespace
}  // namespace ferry::bench
