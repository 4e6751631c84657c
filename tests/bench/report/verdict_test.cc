// Tests the page's first sentence, by what the runs have.
#include "bench/report/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;

PointResult Open(double rate, double p50_ms, double p99_ms) {
  PointResult point;
  point.loop = "open";
  point.target_rate = rate;
  point.offered_rate = rate;
  point.achieved_rate = rate;
  point.planned = 1000;
  point.ok = 1000;
  point.latency.p50_us = p50_ms * 1e3;
  point.latency.p99_us = p99_ms * 1e3;
  return point;
}

PointResult Closed(int outstanding, double rate) {
  PointResult point = Open(rate, 1, 2);
  point.loop = "closed";
  point.outstanding = outstanding;
  return point;
}

RunResult RunOf(const std::string& label, std::vector<PointResult> points) {
  RunResult run;
  run.label = label;
  run.model = "mlp";
  run.points = std::move(points);
  return run;
}

std::string Verdict(const std::vector<RunResult>& runs,
                    std::optional<double> slo_ms = std::nullopt) {
  const auto verdicts = Verdicts(runs, slo_ms);
  EXPECT_EQ(verdicts.size(), 1U);
  return verdicts.empty() ? "" : verdicts[0];
}

TEST(VerdictTest, OfASearch) {
  RunResult run = RunOf("on", {Open(3870, 10, 49)});
  run.search =
      SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = 3870};
  EXPECT_EQ(Verdict({run}),
            "mlp carries 3,870 requests/s with p99 within 50 ms (search).");
  run.saturation_rate = 4000;
  EXPECT_EQ(Verdict({run}),
            "mlp carries 3,870 requests/s with p99 within 50 ms (search), 97 % "
            "of its saturation.");
  run.search->found_rate.reset();
  EXPECT_EQ(Verdict({run}),
            "At no load that was tried does mlp keep p99 within 50 ms "
            "(search).");
}

TEST(VerdictTest, OfSaturationAndTheUsualLoad) {
  EXPECT_EQ(
      Verdict({RunOf("on", {Closed(64, 1000), Open(300, 1, 2),
                            Open(690, 4.125, 12.34), Open(900, 9, 90)})}),
      "mlp saturates at 1,000 requests/s; at 69 % load p50 is 4.12 ms and "
      "p99 12.3 ms.");
}

TEST(VerdictTest, OfABound) {
  const std::vector<RunResult> runs = {
      RunOf("on", {Closed(64, 1000), Open(300, 1, 2), Open(700, 4, 12)})};
  EXPECT_EQ(Verdict(runs, 12),
            "mlp carries at least 700 requests/s with p99 within 12 ms.");
  EXPECT_EQ(Verdict(runs, 1),
            "At no load that was tried does mlp keep p99 within 1 ms.");
}

TEST(VerdictTest, OfOpenLoopsAlone) {
  EXPECT_EQ(
      Verdict({RunOf("on", {Open(300, 1, 2), Open(85.25, 1, 2)})}),
      "mlp served 300 requests/s, the most that was tried: p50 is 1.00 ms "
      "and p99 2.00 ms.");
  EXPECT_EQ(Verdict({RunOf("on", {Open(300, 1, 2)})}),
            "One load only (open, 300/s): mlp served 300 requests/s, p50 is "
            "1.00 ms and p99 2.00 ms.");
}

// Returns the point of a server that refuses what it cannot do: those that it
// answers are fast.
PointResult Shedding(double rate, double share) {
  PointResult point = Open(rate, 246, 345);
  point.ok = static_cast<uint64_t>(1000 * share);
  point.errors["RESOURCE_EXHAUSTED"] = 1000 - point.ok;
  point.achieved_rate = rate * share;
  return point;
}

TEST(VerdictTest, WhatShedsLoadDoesNotCarryIt) {
  EXPECT_EQ(Verdict({RunOf("on", {Open(200, 4, 9), Shedding(600, 0.62),
                                  Shedding(800, 0.5)})}),
            "mlp served 200 requests/s: p50 is 4.00 ms and p99 9.00 ms; at "
            "600/s 38.0 % failed.");
  PointResult dead = Shedding(600, 0);
  EXPECT_EQ(Verdict({RunOf("on", {Open(200, 4, 9), dead})}),
            "mlp served 200 requests/s: p50 is 4.00 ms and p99 9.00 ms; at "
            "600/s 100.0 % failed.");
  EXPECT_EQ(Verdict({RunOf("on", {Shedding(800, 0.5), Shedding(600, 0.62)})}),
            "At no load that was tried was mlp steady with 99 % successes: at "
            "600/s 38.0 % failed.");
  EXPECT_EQ(
      Verdict({RunOf("on", {Shedding(600, 0.62)})}),
      "One load only (open, 600/s): mlp served 372 requests/s, p50 is 246 "
      "ms (620 successes are too few for p99); 38.0 % failed.");
  PointResult closed = Closed(64, 1000);
  closed.ok = 620;
  EXPECT_EQ(
      Verdict({RunOf("on", {closed, Shedding(700, 0.7), Open(300, 1, 2)})}),
      "mlp saturates at 1,000 requests/s (38.0 % failed); at 30 % load p50 "
      "is 1.00 ms and p99 2.00 ms.");
  PointResult query = Shedding(100, 0.62);
  query.loop = "offline";
  query.rows_rate = 62;
  EXPECT_EQ(Verdict({RunOf("on", {query})}),
            "mlp answered 62.0 rows/s of one query (offline); 38.0 % failed.");
}

TEST(VerdictTest, WhatIsUnsteadyIsSaid) {
  PointResult rising = Open(300, 400, 800);
  rising.unsteady = "the median latency went up by 800.00 ms";
  EXPECT_EQ(
      Verdict({RunOf("on", {rising})}),
      "One load only (open, 300/s): mlp served 300 requests/s, p50 is 400 "
      "ms and p99 800 ms; unsteady: the median latency went up by 800.00 "
      "ms.");
  EXPECT_EQ(Verdict({RunOf("on", {Open(200, 4, 9), rising})}),
            "mlp served 200 requests/s: p50 is 4.00 ms and p99 9.00 ms; at "
            "300/s it was unsteady: the median latency went up by 800.00 ms.");
  PointResult closed = Closed(16, 881);
  closed.unsteady = "the rate went down by 500/s";
  PointResult more = Closed(32, 900);
  more.unsteady = closed.unsteady;
  EXPECT_EQ(
      Verdict({RunOf("on", {closed, more})}),
      "At no load that was tried was mlp steady with 99 % successes: with "
      "16 outstanding it was unsteady: the rate went down by 500/s.");
}

TEST(VerdictTest, WhatIsVoidSaysNothingOfTheServer) {
  PointResult late = Open(900, 1, 2);
  late.void_reason = "the client was late";
  EXPECT_EQ(Verdict({RunOf("on", {Open(200, 4, 9), late})}),
            "mlp served 200 requests/s: p50 is 4.00 ms and p99 9.00 ms.")
      << "nor is it the most that was tried";
  PointResult again = Open(200, 4, 9);
  again.ok = 500;
  EXPECT_EQ(Verdict({RunOf("on", {Open(200, 4, 9), again})}),
            "mlp served 200 requests/s: p50 is 4.00 ms and p99 9.00 ms; at "
            "200/s 50.0 % failed.");
}

TEST(VerdictTest, TellsNoPercentileOfTooFewRequests) {
  PointResult few = Open(300, 1, 2);
  few.planned = few.ok = 999;
  const RunResult run = RunOf("on", {few, Open(100, 1, 2)});
  EXPECT_EQ(
      Verdict({run}),
      "mlp served 300 requests/s, the most that was tried: p50 is 1.00 ms "
      "(999 successes are too few for p99).");
  EXPECT_EQ(Verdict({run}, 5),
            "mlp carries at least 300 requests/s with p99 within 5 ms; 999 "
            "successes are too few to be sure of p99.");
  few.planned = few.ok = 19;
  EXPECT_EQ(Verdict({RunOf("on", {few})}),
            "One load only (open, 300/s): mlp served 300 requests/s, 19 "
            "successes are too few for percentiles.");
}

TEST(VerdictTest, OfAnOfflineQuery) {
  PointResult query = Open(64, 1000, 2000);
  query.loop = "offline";
  query.query_rows = 24576;
  query.rows_rate = 8192;
  const RunResult run = RunOf("on", {query});
  EXPECT_EQ(Verdict({run}),
            "mlp answered 8,192 rows/s of one query (offline).");
  EXPECT_EQ(Verdict({run}, 20), Verdict({run})) << "it has no bound";
  query.rows_rate = 4096;
  EXPECT_EQ(Verdict({RunOf("off", {query}), run}),
            "mlp answered 8,192 rows/s of one query (offline) with 'on', 2.00 "
            "times the 4,096 of 'off'.");
  EXPECT_EQ(Verdict({RunOf("on", {query, Closed(64, 500), Closed(1, 100)})}),
            "mlp saturates at 500 requests/s.");
  query.interrupted = true;
  EXPECT_EQ(Verdict({RunOf("on", {query})}),
            "Nothing can be said of mlp: no load was measured to its end.");
}

TEST(VerdictTest, SaysWhatIsSimulated) {
  RunResult run = RunOf("on", {Closed(64, 1000), Open(700, 4, 12)});
  run.is_simulated = true;
  EXPECT_EQ(Verdict({run}),
            "On a simulated device: mlp saturates at 1,000 requests/s; at 70 % "
            "load p50 is 4.00 ms and p99 12.0 ms.");
}

TEST(VerdictTest, SaysWhyNothingCanBeSaid) {
  EXPECT_EQ(Verdict({RunOf("on", {})}),
            "Nothing can be said of mlp: no load was measured.");
  RunResult run = RunOf("on", {Open(300, 1, 2)});
  run.points[0].void_reason = "the client was late";
  EXPECT_EQ(
      Verdict({run}),
      "Nothing can be said of mlp: no point stands, the last is void: the "
      "client was late.");
  run.points[0].ok = 0;
  EXPECT_EQ(Verdict({run}),
            "Nothing can be said of mlp: no request succeeded.");
  EXPECT_THAT(Verdicts({}, std::nullopt), ElementsAre());
}

TEST(VerdictTest, ComparesRunsOfOneKind) {
  const RunResult off = RunOf("off", {Closed(64, 205)});
  const RunResult on = RunOf("on", {Closed(64, 8744)});
  EXPECT_EQ(
      Verdict({off, on}),
      "mlp saturates at 8,744 requests/s with 'on', 42.7 times the 205 of "
      "'off'.");
  EXPECT_EQ(Verdict({off, RunOf("same", {Closed(64, 208)})}),
            "mlp saturates at 208 requests/s with 'same', about as much as "
            "'off' (205).");
  EXPECT_EQ(Verdict({off, on, RunOf("third", {Closed(64, 700)})}),
            "mlp saturates at 8,744 requests/s with 'on', the most of 3 runs, "
            "42.7 times the 205 of 'off'.");
}

TEST(VerdictTest, NoRatioToARunThatWasTriedNoHigher) {
  RunResult off = RunOf("off", {Open(100, 1, 2), Open(200, 1, 2)});
  const RunResult on = RunOf("on", {Open(300, 1, 2), Open(600, 1, 2)});
  EXPECT_EQ(Verdict({off, on}, 5),
            "mlp carries at least 600 requests/s with p99 within 5 ms with "
            "'on'; 'off' carried the highest load that was put to it, 200.");
  off.points.push_back(Open(400, 7, 9));
  EXPECT_EQ(Verdict({off, on}, 5),
            "mlp carries at least 600 requests/s with p99 within 5 ms with "
            "'on', 3.00 times the 200 of 'off'.");
}

TEST(VerdictTest, SearchThatConfirmedNothingSaysWhatMetOnce) {
  RunResult run = RunOf("on", {Open(300, 1, 2), Open(310, 1, 2)});
  run.points[0].purpose = "bisect: met";
  run.points[1].purpose = "confirm: unsteady";
  run.search = SearchSummary{.slo_ms = 50, .percentile = 99};
  EXPECT_EQ(Verdict({run}),
            "mlp kept p99 within 50 ms at 300/s in a try, and no rate was "
            "confirmed.");
}

TEST(VerdictTest, DoesNotCompareUnlikeRuns) {
  RunResult searched = RunOf("searched", {Open(300, 1, 2)});
  searched.search =
      SearchSummary{.slo_ms = 50, .percentile = 99, .found_rate = 300};
  EXPECT_EQ(Verdict({RunOf("off", {Closed(64, 205)}), searched}),
            "The runs of mlp measured different things (saturation and p99 "
            "within 50 ms, searched) and are not compared.");
}

TEST(VerdictTest, HasASentenceForEachModel) {
  RunResult other = RunOf("other", {Closed(8, 12.5)});
  other.model = "resnet50";
  other.points.push_back(Closed(16, 12.5));
  EXPECT_THAT(Verdicts({RunOf("off", {Closed(64, 205), Closed(1, 100)}), other},
                       std::nullopt),
              ElementsAre("mlp saturates at 205 requests/s.",
                          "resnet50 saturates at 12.5 requests/s."));
}

}  // namespace
}  // namespace ferry::bench
