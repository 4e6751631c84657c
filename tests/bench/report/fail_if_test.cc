// Tests what --fail-if takes, and which points it blames.
#include "bench/report/fail_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/load/histogram_record.h"
#include "bench/load/latency_histogram.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns one closed loop at 500/s: `ok` requests within 20 ms, two of a
// hundred took that long and the others 10 ms; `failed` had no success.
RunResult RunOf(uint64_t ok, uint64_t failed) {
  LatencyHistogram latency;
  for (uint64_t i = 0; i < ok; ++i) {
    RecordLatency(latency, Milliseconds(i % 100 < 98 ? 10 : 20));
  }
  RunResult run;
  PointResult& point = run.points.emplace_back();
  point.loop = "closed";
  point.outstanding = 8;
  point.planned = ok + failed;
  point.ok = ok;
  if (failed > 0) {
    point.errors["UNAVAILABLE"] = failed;
  }
  point.achieved_rate = 500;
  point.latency = Summarize(latency);
  point.histograms.latency = RecordOf(latency);
  return run;
}

RunResult OneRun() { return RunOf(9950, 50); }

std::vector<std::string> FailuresOf(const std::string& text,
                                    const RunResult& run = OneRun()) {
  const auto condition = ParseCondition(text);
  EXPECT_TRUE(condition.ok()) << condition.status();
  return Failures({*condition}, run);
}

TEST(FailIfTest, ConditionsAreComparedInTheirUnits) {
  for (const char* text :
       {"p99>19.9ms", "p99 > 19900us", "p99>0.0199s", "errors>0.4%", "errors>0",
        "rate<501", "rate<500.5/s", "p95>9.9ms"}) {
    EXPECT_EQ(FailuresOf(text).size(), 1U) << text;
  }
  for (const char* text :
       {"p99>20ms", "p99<19.9ms", "errors>0.5%", "errors<0.5%", "rate<500",
        "rate>500", "p95>10.1ms"}) {
    EXPECT_THAT(FailuresOf(text), IsEmpty()) << text;
  }
  EXPECT_THAT(
      FailuresOf("p99>5ms"),
      ElementsAre(HasSubstr("closed, 8 outstanding: p99>5ms, at 19.9")));
}

TEST(FailIfTest, GoodputIsOfTheBoundOfTheRun) {
  EXPECT_THAT(FailuresOf("goodput<1", OneRun()),
              ElementsAre("closed, 8 outstanding has no goodput: goodput<1 "
                          "cannot be told, as it takes --slo-ms"));
  RunResult run = OneRun();
  run.slo_ms = 15;
  run.points[0].goodput_rate = 490;
  EXPECT_THAT(FailuresOf("goodput<490.5/s", run),
              ElementsAre("closed, 8 outstanding: goodput<490.5/s, at "
                          "490.0/s"));
  EXPECT_THAT(FailuresOf("goodput<490", run), IsEmpty());
  run.points[0].goodput_rate = 0;
  EXPECT_EQ(FailuresOf("goodput<1", run).size(), 1U) << "all came too late";
  run.points[0].goodput_rate = std::nullopt;  // as of an offline query
  EXPECT_THAT(FailuresOf("goodput<1", run),
              ElementsAre("closed, 8 outstanding has no goodput: goodput<1 "
                          "cannot be told"));
}

TEST(FailIfTest, GoodputAloneTakesABound) {
  EXPECT_TRUE(TakesSlo(*ParseCondition("goodput<1000")));
  EXPECT_FALSE(TakesSlo(*ParseCondition("rate<1000")));
  EXPECT_FALSE(ParseCondition("goodput<10ms").ok());
}

TEST(FailIfTest, WhatCannotBeJudgedFails) {
  RunResult run = OneRun();
  EXPECT_THAT(FailuresOf("busy<10%", run), ElementsAre(HasSubstr("no busy")));
  run.points[0].void_reason = "the client was late";
  EXPECT_THAT(FailuresOf("p99>1s", run), ElementsAre(HasSubstr("is void")));
  EXPECT_THAT(Failures({}, run), IsEmpty()) << "none was asked for";
  run = OneRun();
  run.points[0].interrupted = true;
  EXPECT_THAT(FailuresOf("p99>1s", run), ElementsAre(HasSubstr("cut short")));
  run = RunOf(0, 1000);
  EXPECT_THAT(FailuresOf("p50>1s", run), ElementsAre(HasSubstr("no p50")));
}

TEST(FailIfTest, WhoFailedIsInfinitelyLate) {
  // A server that was killed: the successes alone are fast.
  const RunResult killed = RunOf(284, 545);
  EXPECT_THAT(FailuresOf("p99>1s", killed),
              ElementsAre("closed, 8 outstanding: p99>1s, as 545 of 829 "
                          "requests failed"));
  EXPECT_THAT(FailuresOf("p50>1s", killed), ElementsAre(HasSubstr("as 545")));
  EXPECT_THAT(FailuresOf("mean>1s", killed), ElementsAre(HasSubstr("as 545")));
  EXPECT_THAT(FailuresOf("max>1s", killed), ElementsAre(HasSubstr("as 545")));
  // One of a hundred may fail, not more.
  EXPECT_THAT(FailuresOf("p99>1s", RunOf(9900, 100)), IsEmpty());
  EXPECT_EQ(FailuresOf("p99>1s", RunOf(9899, 101)).size(), 1U);
  EXPECT_THAT(FailuresOf("mean>1s", RunOf(9900, 100)), IsEmpty());
  EXPECT_EQ(FailuresOf("mean>1s", RunOf(9899, 101)).size(), 1U);
  EXPECT_THAT(FailuresOf("max>1s", RunOf(2000, 0)), IsEmpty());
  // Two of a hundred took 20 ms: they are p98 where none failed, and where
  // eight of a hundred did they are p90.
  EXPECT_THAT(FailuresOf("p90>15ms", RunOf(10000, 0)), IsEmpty());
  EXPECT_THAT(FailuresOf("p90>15ms", RunOf(9100, 900)),
              ElementsAre(HasSubstr("p90>15ms, at 19.9")));
}

TEST(FailIfTest, APercentileTakesEnoughRequests) {
  EXPECT_THAT(FailuresOf("p99>50ms", RunOf(8, 0)),
              ElementsAre("closed, 8 outstanding: p99>50ms cannot be told from "
                          "8 requests: it takes 1000 at least"));
  EXPECT_EQ(FailuresOf("p99>50ms", RunOf(999, 0)).size(), 1U);
  EXPECT_THAT(FailuresOf("p99>50ms", RunOf(1000, 0)), IsEmpty());
  EXPECT_THAT(FailuresOf("p99.9>50ms", RunOf(1000, 0)),
              ElementsAre(HasSubstr("it takes 10000 at least")));
  EXPECT_THAT(FailuresOf("p50>50ms", RunOf(20, 0)), IsEmpty());
  EXPECT_THAT(FailuresOf("max>50ms", RunOf(1, 0)), IsEmpty());
  // What is so already needs no more of them.
  EXPECT_THAT(FailuresOf("p99>5ms", RunOf(100, 0)),
              ElementsAre(HasSubstr("p99>5ms, at 19.9")));
}

TEST(FailIfTest, WhatIsNoConditionIsRefused) {
  for (const char* text :
       {"", "p99", "p99>", "p99>20", "p99>20%", "p98>20ms", "errors>0.1",
        "rate<10ms", "p99>-1ms", "p99=20ms", "p99>nanms", "p99>20 apples"}) {
    EXPECT_THAT(std::string(ParseCondition(text).status().message()),
                HasSubstr("as 'p99>20ms'"))
        << text;
  }
}

}  // namespace
}  // namespace ferry::bench
