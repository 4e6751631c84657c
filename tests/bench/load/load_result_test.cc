// Tests the rule that voids a run, at its limits.
#include "bench/load/load_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

LoadResult WithLag(double lag_ms, double latency_ms) {
  LoadResult result;
  for (int i = 0; i < 1000; ++i) {
    ++result.planned;
    RecordLatency(result.send_lag, Milliseconds(lag_ms));
    RecordLatency(result.latency, Milliseconds(latency_ms));
  }
  return result;
}

TEST(VoidReasonTest, LagUnderOneMillisecondIsAllowedBesideAnyLatency) {
  EXPECT_EQ(VoidReason(WithLag(0.99, 1.5)), "");
}

TEST(VoidReasonTest, LagUnderFivePercentOfLatencyIsAllowed) {
  EXPECT_EQ(VoidReason(WithLag(4.9, 100)), "");
  EXPECT_THAT(VoidReason(WithLag(5.2, 100)), HasSubstr("client was late"));
}

TEST(VoidReasonTest, LagOverBothLimitsIsVoid) {
  EXPECT_THAT(VoidReason(WithLag(1.1, 2)), HasSubstr("client was late"));
}

TEST(VoidReasonTest, WhatWasNotSentOrHeldBackOrMeasuredIsVoid) {
  LoadResult not_sent = WithLag(0, 10);
  not_sent.not_sent = 3;
  EXPECT_THAT(VoidReason(not_sent), HasSubstr("never sent 3 of 1000"));
  LoadResult held_back = WithLag(0, 10);
  held_back.held_back = 2;
  EXPECT_THAT(VoidReason(held_back), HasSubstr("--max-outstanding"));
  EXPECT_EQ(VoidReason(LoadResult()), "nothing was measured");
}

TEST(CodeNameTest, IsTheNameOfTheProtocol) {
  EXPECT_EQ(CodeName(0), "OK");
  EXPECT_EQ(CodeName(8), "RESOURCE_EXHAUSTED");
}

}  // namespace
}  // namespace ferry::bench
