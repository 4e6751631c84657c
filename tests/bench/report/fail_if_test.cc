// What --fail-if takes, and which points it blames.
#include "bench/report/fail_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of one closed loop: p99 of 20 ms, 2 of 100 failed, 500/s.
RunResult OneRun() {
  RunResult run;
  PointResult& point = run.points.emplace_back();
  point.loop = "closed";
  point.outstanding = 8;
  point.planned = 100;
  point.ok = 98;
  point.errors["UNAVAILABLE"] = 2;
  point.achieved_rate = 500;
  point.latency.p99_us = 20'000;
  return run;
}

std::vector<std::string> FailuresOf(const std::string& text,
                                    const RunResult& run = OneRun()) {
  const auto condition = ParseCondition(text);
  EXPECT_TRUE(condition.ok()) << condition.status();
  return Failures({*condition}, run);
}

TEST(FailIfTest, ConditionsAreComparedInTheirUnits) {
  for (const char* text : {"p99>19.9ms", "p99 > 19900us", "p99>0.0199s",
                           "errors>1.9%", "rate<501", "rate<500.5/s"}) {
    EXPECT_EQ(FailuresOf(text).size(), 1U) << text;
  }
  for (const char* text : {"p99>20ms", "p99<20ms", "errors>2%", "errors<2%",
                           "rate<500", "rate>500"}) {
    EXPECT_THAT(FailuresOf(text), IsEmpty()) << text;
  }
  EXPECT_THAT(FailuresOf("p99>5ms"),
              ElementsAre("closed, 8 outstanding: p99>5ms, at 20.000 ms"));
}

TEST(FailIfTest, WhatCannotBeJudgedFails) {
  RunResult run = OneRun();
  EXPECT_THAT(FailuresOf("busy<10%", run), ElementsAre(HasSubstr("no busy")));
  run.points[0].void_reason = "the client was late";
  EXPECT_THAT(FailuresOf("p99>1s", run), ElementsAre(HasSubstr("is void")));
  EXPECT_THAT(Failures({}, run), IsEmpty()) << "nobody asked";
  run = OneRun();
  run.points[0].interrupted = true;
  EXPECT_THAT(FailuresOf("p99>1s", run), ElementsAre(HasSubstr("cut short")));
  run = OneRun();
  run.points[0].ok = 0;
  EXPECT_THAT(FailuresOf("p50>1s", run), ElementsAre(HasSubstr("no p50")));
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
