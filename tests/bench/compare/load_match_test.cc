// Tests which points are of the same load, and what is said of the others.
#include "bench/compare/load_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PointResult Closed(int outstanding) {
  PointResult point;
  point.loop = "closed";
  point.outstanding = outstanding;
  return point;
}

PointResult Open(double rate, const std::string& arrivals = "poisson") {
  PointResult point;
  point.loop = "open";
  point.target_rate = rate;
  point.arrivals = arrivals;
  return point;
}

RunResult RunAt(const std::string& date, std::vector<PointResult> points) {
  RunResult run;
  run.label = "x";
  run.date = date;
  run.model = "mlp";
  run.points = std::move(points);
  return run;
}

std::vector<std::string> LoadsOf(const LoadMatches& matches) {
  std::vector<std::string> loads;
  for (const LoadMatch& match : matches.loads) {
    loads.push_back(match.load);
  }
  return loads;
}

TEST(LoadMatchTest, PointsAreMatchedByWhatWasAsked) {
  const std::vector<RunResult> a = {
      RunAt("1", {Closed(1), Open(500), Open(700, "bursts:8"), Open(900)})};
  const std::vector<RunResult> b = {
      RunAt("2", {Open(500, ""), Closed(1), Open(700), Closed(2)})};
  const LoadMatches matches = MatchLoads(a, b);
  EXPECT_THAT(LoadsOf(matches),
              ElementsAre("closed, 1 outstanding", "open, 500/s"));
  EXPECT_THAT(matches.left_out,
              ElementsAre("open, 700/s, bursts:8: measured only in A",
                          "open, 900/s: measured only in A",
                          "open, 700/s: measured only in B",
                          "closed, 2 outstanding: measured only in B"));
  EXPECT_THAT(matches.warnings, IsEmpty());
}

PointResult Offline(uint64_t rows, int outstanding) {
  PointResult point;
  point.loop = "offline";
  point.query_rows = rows;
  point.outstanding = outstanding;
  return point;
}

TEST(LoadMatchTest, QueriesAreMatchedByTheirRowsAndWhatIsOutstanding) {
  const LoadMatches matches =
      MatchLoads({RunAt("1", {Offline(1000, 8), Offline(2000, 8), Open(0)})},
                 {RunAt("2", {Offline(1000, 8), Offline(2000, 16)})});
  EXPECT_THAT(LoadsOf(matches),
              ElementsAre("offline, 1000 rows, 8 outstanding"));
  EXPECT_THAT(
      matches.left_out,
      ElementsAre("offline, 2000 rows, 8 outstanding: measured only in A",
                  "open, 0/s: measured only in A",
                  "offline, 2000 rows, 16 outstanding: measured only in B"));
}

TEST(LoadMatchTest, WhatHasNothingInCommonIsAWarningAndNoBar) {
  std::vector<RunResult> a = {RunAt("1", {Closed(1)})};
  std::vector<RunResult> b = a;
  b[0].model = "other";
  b[0].rows_per_request = 4;
  b[0].is_simulated = true;
  b[0].cpu = "another";
  const LoadMatches matches = MatchLoads(a, b);
  EXPECT_THAT(LoadsOf(matches), ElementsAre("closed, 1 outstanding"));
  EXPECT_THAT(matches.warnings,
              ElementsAre("model: 'mlp' in A, 'other' in B",
                          "rows of a request: '1' in A, '4' in B",
                          "simulated: 'no' in A, 'yes' in B",
                          "client's processor: '' in A, 'another' in B"));
}

TEST(LoadMatchTest, SettingsThatBothHaveAreKeptApart) {
  RunResult eager = RunAt("1", {Closed(1)});
  eager.runtime_options = RuntimeSetting{"eager", 16, 0};
  RunResult window = RunAt("2", {Closed(1)});
  window.runtime_options = RuntimeSetting{"window", 16, 5};
  EXPECT_THAT(
      LoadsOf(MatchLoads({eager, window}, {window, eager})),
      ElementsAre(
          "closed, 1 outstanding, runtime options eager, 16 rows",
          "closed, 1 outstanding, runtime options window, 16 rows, 5 ms"));
  // Where there is one each, they are what is compared.
  EXPECT_THAT(LoadsOf(MatchLoads({eager}, {window})),
              ElementsAre("closed, 1 outstanding"));
}

TEST(LoadMatchTest, RepeatsInTurnArePairsWhoeverIsFirst) {
  const std::vector<PointResult> points = {Closed(1)};
  const std::vector<RunResult> a = {RunAt("01", points), RunAt("04", points),
                                    RunAt("05", points)};
  const std::vector<RunResult> b = {RunAt("02", points), RunAt("03", points),
                                    RunAt("06", points)};
  EXPECT_TRUE(MatchLoads(a, b).loads.front().is_paired);
  const std::vector<RunResult> later = {
      RunAt("07", points), RunAt("08", points), RunAt("09", points)};
  EXPECT_FALSE(MatchLoads(a, later).loads.front().is_paired);
  // One date for all: the file's order does not say that they took turns.
  const std::vector<RunResult> undated = {RunAt("", points), RunAt("", points)};
  EXPECT_FALSE(MatchLoads(undated, undated).loads.front().is_paired);
}

TEST(LoadMatchTest, APairIsLeftOutWhereOneOfItIsVoid) {
  std::vector<PointResult> points = {Closed(1)};
  const std::vector<RunResult> a = {RunAt("01", points), RunAt("03", points),
                                    RunAt("05", points)};
  std::vector<RunResult> b = {RunAt("02", points), RunAt("04", points),
                              RunAt("06", points)};
  b[1].points[0].void_reason = "late";
  b[2].points[0].interrupted = true;
  const LoadMatches matches = MatchLoads(a, b);
  ASSERT_EQ(matches.loads.size(), 1U);
  EXPECT_EQ(matches.loads[0].a.size(), 1U);
  EXPECT_EQ(matches.loads[0].b.size(), 1U);
  EXPECT_THAT(matches.left_out,
              ElementsAre("closed, 1 outstanding: void: late in B",
                          "closed, 1 outstanding: cut short in B"));
}

TEST(LoadMatchTest, UnsteadyPointsAreComparedWithAWarning) {
  std::vector<PointResult> points = {Closed(1), Open(500)};
  const std::vector<RunResult> a = {RunAt("01", points), RunAt("03", points)};
  std::vector<RunResult> b = {RunAt("02", points), RunAt("04", points)};
  EXPECT_THAT(MatchLoads(a, b).unsteady, IsEmpty());
  b[1].points[0].unsteady = "the rate went down";
  b[0].points[1].unsteady = b[1].points[1].unsteady = "the median went up";
  const LoadMatches matches = MatchLoads(a, b);
  ASSERT_EQ(matches.loads.size(), 2U);
  EXPECT_EQ(matches.loads[0].b.size(), 2U);
  EXPECT_THAT(
      matches.unsteady,
      ElementsAre("closed, 1 outstanding: unsteady in B (1 of 2): the rate "
                  "went down",
                  "open, 500/s: unsteady in B (2 of 2): the median went up"));
  EXPECT_THAT(MatchLoads({b[0]}, {a[0]}).unsteady,
              ElementsAre("open, 500/s: unsteady in A: the median went up"));
}

TEST(LoadMatchTest, WindowsAndWarmUpsAreAWarning) {
  PointResult tried = Open(700);
  tried.purpose = "bisect: met";
  tried.window_s = 1.25;
  PointResult measured = Open(500);
  measured.window_s = 5;
  RunResult a = RunAt("1", {tried, measured});
  a.warm_up_s = 2;
  RunResult b = a;
  b.points[0].window_s = 3;
  EXPECT_THAT(MatchLoads({a}, {b}).warnings, IsEmpty());
  b.points[1].window_s = 10;
  b.warm_up_s = 0;
  EXPECT_THAT(MatchLoads({a}, {b}).warnings,
              ElementsAre("window: '5 s' in A, '10 s' in B",
                          "warm-up: '2 s' in A, '0 s' in B"));
}

TEST(LoadMatchTest, TriesOfASearchAreNoPoints) {
  PointResult tried = Open(100);
  tried.purpose = "double: met";
  PointResult confirmed = Open(200);
  confirmed.purpose = "confirm: met";
  const std::vector<RunResult> runs = {
      RunAt("1", {tried, confirmed, confirmed})};
  const LoadMatches matches = MatchLoads(runs, runs);
  EXPECT_THAT(LoadsOf(matches), ElementsAre("open, 200/s"));
  EXPECT_EQ(matches.loads[0].a.size(), 2U);
  EXPECT_FALSE(matches.loads[0].is_paired);  // in one run, one after the other
}

}  // namespace
}  // namespace ferry::bench
