// Tests what ferry-forward says of its runs.
#include "models/forward/forward_report.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TEST(ForwardReportTest, OfADeviceSaysItsIdleTimeAndHowBusyItWas) {
  const Measurement one = Summary(4, {.stage = {1, 1, 1},
                                      .compute = {6, 6, 6},
                                      .total = {8, 8, 9},
                                      .idle = {1, 0.5, 4.5}});
  EXPECT_EQ(one.idle_ms, 1);
  EXPECT_EQ(one.busy_ratio, 0.75);
  const auto batch = ToJson(ModelOptions(), {one})["batches"][0];
  EXPECT_EQ(batch["idle_ms"], 1);
  EXPECT_EQ(batch["busy_ratio"], 0.75);
  EXPECT_EQ(batch["rows_per_second"], 500);
}

TEST(ForwardReportTest, SaysNeitherWhereItIsNotKnown) {
  const Measurement one =
      Summary(1, {.stage = {1}, .compute = {2}, .total = {3}});
  EXPECT_FALSE(one.busy_ratio.has_value());
  const auto batch = ToJson(ModelOptions(), {one})["batches"][0];
  EXPECT_FALSE(batch.contains("idle_ms"));
  EXPECT_FALSE(batch.contains("busy_ratio"));
  EXPECT_EQ(batch["times_ms"].size(), 1);
}

}  // namespace
}  // namespace ferry
