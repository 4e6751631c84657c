// Tests that goodput counts what succeeds within the bound.
#include "bench/report/goodput.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/report/report_csv.h"
#include "bench/report/report_html.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// 90 successes of 5 ms, 8 of 50 ms and 2 failures, in 10 s.
PointResult Open() {
  LatencyHistogram latency;
  for (int i = 0; i < 98; ++i) {
    latency.Record(i < 90 ? 5'000'000 : 50'000'000);
  }
  PointResult point;
  point.loop = "open";
  point.planned = 100;
  point.ok = 98;
  point.errors = {{"UNAVAILABLE", 2}};
  point.window_s = 10;
  point.achieved_rate = 9.8;
  point.latency = Summarize(latency);
  point.histograms.latency = RecordOf(latency);
  return point;
}

RunResult RunOf(std::vector<PointResult> points) {
  RunResult run;
  run.label = "on";
  run.model = "mlp";
  run.points = std::move(points);
  return run;
}

TEST(GoodputTest, CountsSuccessesWithinTheBound) {
  EXPECT_DOUBLE_EQ(*GoodputOf(Open(), 20), 9);
  EXPECT_DOUBLE_EQ(*GoodputOf(Open(), 50), 9.8) << "at it is within it";
  EXPECT_DOUBLE_EQ(*GoodputOf(Open(), 1000), 9.8) << "failures never count";
  EXPECT_DOUBLE_EQ(*GoodputOf(Open(), 1), 0);
}

TEST(GoodputTest, NothingOfTheBucketInWhichTheBoundLies) {
  LatencyHistogram latency;
  latency.Record(5'000'000);
  latency.Record(9'000'000);
  PointResult point = Open();
  point.ok = 2;
  point.histograms.latency = RecordOf(latency);
  EXPECT_DOUBLE_EQ(*GoodputOf(point, 5), 0) << "its bucket goes beyond 5 ms";
  EXPECT_DOUBLE_EQ(*GoodputOf(point, 5.04), 0.1);
}

TEST(GoodputTest, IsUnknownWithoutPlannedSendsWindowOrHistogram) {
  PointResult offline = Open();
  offline.loop = "offline";
  EXPECT_FALSE(GoodputOf(offline, 20).has_value());
  PointResult older = Open();
  older.histograms = {};
  EXPECT_FALSE(GoodputOf(older, 20).has_value());
  PointResult empty = Open();
  empty.window_s = 0;
  EXPECT_FALSE(GoodputOf(empty, 20).has_value());
  PointResult refused = Open();
  refused.ok = 0;
  refused.histograms = {};
  EXPECT_EQ(GoodputOf(refused, 20), 0.0);
}

TEST(GoodputTest, BoundIsOfAllRunsOrOfNone) {
  RunResult one = RunOf({Open()});
  EXPECT_FALSE(GoodputSloMs({one}).has_value());
  SetGoodput(20, one);
  EXPECT_EQ(GoodputSloMs({one, RunOf({})}), 20);
  RunResult other = RunOf({Open()});
  SetGoodput(50, other);
  EXPECT_FALSE(GoodputSloMs({one, other}).has_value());
  EXPECT_THAT(DescribeGoodput({one, other}), HasSubstr("bound of each run"));
}

TEST(GoodputTest, IsInTheTableWhereThereIsABound) {
  RunResult run = RunOf({Open()});
  EXPECT_THAT(MakeTable({run}).headings, Not(Contains("goodput/s")));
  SetGoodput(20, run);
  const ReportTable table = MakeTable({run});
  EXPECT_EQ(table.headings[4], "goodput/s");
  EXPECT_EQ(table.rows[0][4], "9");
  EXPECT_EQ(table.rows[0].size(), table.headings.size());
  EXPECT_THAT(table.notes,
              Contains("goodput: successes/s within 20 ms of their planned "
                       "send, of what was planned in the window (achieved/s "
                       "counts what ended in it)"));
}

TEST(GoodputTest, IsInFilesAndReadAgain) {
  RunResult run = RunOf({Open()});
  EXPECT_THAT(ToJson({run}), HasSubstr("\"goodput_rate\": null"));
  SetGoodput(20, run);
  const auto read = ParseJson(ToJson({run}), "x.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)[0].slo_ms, 20);
  EXPECT_EQ((*read)[0].points[0].goodput_rate, 9);
  EXPECT_THAT(ToCsv({run}),
              HasSubstr(",slo_ms,goodput_rate,saturation_doubt\n"));
  EXPECT_THAT(ToCsv({run}), HasSubstr(",20,9,\n"));
}

TEST(GoodputTest, ThePageDrawsItsBoundAndJudgesByIt) {
  RunResult run = RunOf({Open()});
  EXPECT_THAT(*ToHtml({run}, {}), HasSubstr("\"slo_ms\":null,\"chosen\""));
  SetGoodput(60, run);
  const std::string page = *ToHtml({run}, {});
  EXPECT_THAT(page, HasSubstr("\"slo_ms\":60.0,\"chosen\""));
  EXPECT_THAT(page, HasSubstr("p99 within 60 ms"));
  EXPECT_THAT(page, HasSubstr("goodput/s</th>"));
  EXPECT_THAT(*ToHtml({run}, {.slo_ms = 20}), HasSubstr("p99 within 20 ms"));
}

}  // namespace
}  // namespace ferry::bench
