// Tests what the page shows of the results, and what it leaves out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/load/histogram_record.h"
#include "bench/report/device_table.h"
#include "bench/report/not_measured.h"
#include "bench/report/number_text.h"
#include "bench/report/page_tables.h"
#include "bench/report/report_html.h"
#include "bench/report/report_json.h"

namespace ferry::bench {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A run of one open and one closed point, without any optional part.
RunResult Plain() {
  PointResult open;
  open.loop = "open";
  open.target_rate = open.offered_rate = open.achieved_rate = 700;
  open.planned = open.ok = 7000;
  open.window_s = 10;
  open.latency = {4000, 5000, 6000, 12000, 20000, 21000, 22000, 4500};
  PointResult closed = open;
  closed.loop = "closed";
  closed.outstanding = 64;
  closed.achieved_rate = 1000;
  RunResult run;
  run.label = "on";
  run.model = "mlp";
  run.address = "10.0.0.1:8001";
  run.points = {open, closed};
  return run;
}

// The same, and all that server and device can tell of the open one.
RunResult Whole() {
  RunResult run = Plain();
  PointResult& open = run.points[0];
  open.server_times = ServerTimes{1000, 100, 2000, 50};
  open.batches = {{8, 25}, {64, 75}};
  open.closed = {{"full", 75}, {"max_wait", 25}, {"expired", 0}};
  LatencyHistogram latency;
  for (int i = 0; i < 50; ++i) {
    latency.Record(1'000'000);
    latency.Record(9'000'000);
  }
  open.histograms.latency = RecordOf(latency);
  open.device = DeviceSummary{.name = "L4",
                              .utilization = 0.43,
                              .memory_used_bytes = 3.0 * (1 << 20),
                              .power_w = 71};
  return run;
}

std::string Page(const std::vector<RunResult>& runs,
                 const PageOptions& options = {}) {
  const auto page = ToHtml(runs, options);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.value_or("");
}

std::string Section(const std::string& id) { return "id=\"" + id + "\""; }

TEST(PageTablesTest, BreakdownEndsWithWhatTheServerDidNotSee) {
  RunResult run = Whole();
  EXPECT_THAT(MakeBreakdownTable({run}).rows,
              ElementsAre(ElementsAre("on", "open, 700/s", "1.000", "0.100",
                                      "2.000", "0.050", "1.350", "4.500")));
  run.points[0].server_times->queue_us = 9000;  // more than the client's mean
  EXPECT_THAT(MakeBreakdownTable({run}).rows,
              ElementsAre(ElementsAre("on", "open, 700/s", "9.000", "0.100",
                                      "2.000", "0.050", "0.000", "4.500")));
}

TEST(PageTablesTest, BatchesHaveTheirShareOfBatchesAndOfRows) {
  const ReportTable table = MakeBatchTable({Whole()});
  EXPECT_THAT(
      table.rows,
      ElementsAre(
          ElementsAre("on", "open, 700/s", "8", "25", "25.0 %", "4.00 %"),
          ElementsAre("on", "open, 700/s", "64", "75", "75.0 %", "96.0 %")));
  EXPECT_THAT(
      MakeCloseTable({Whole()}).rows,
      ElementsAre(
          ElementsAre("on", "open, 700/s", "full", "75", "75.0 %"),
          ElementsAre("on", "open, 700/s", "max_wait", "25", "25.0 %")));
}

TEST(PageTablesTest, PercentilesAreOfTheHistogramWhereThereIsOne) {
  LatencyHistogram latency;
  for (uint64_t ns = 1'000'003; ns < 9'000'000; ns += 7919) {
    latency.Record(ns);
  }
  RunResult run = Plain();
  run.points[0].latency = Summarize(latency);
  run.points[0].histograms.latency = RecordOf(latency);
  const LatencySummary& summary = run.points[0].latency;
  const auto rows = MakePercentileTable({run}).rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][2], Ms(summary.p50_us)) << "one value on one page";
  EXPECT_EQ(rows[0][6], Ms(summary.p99_us));
  EXPECT_NE(rows[0][3], "-") << "p75, which a summary lacks";
  EXPECT_EQ(rows[0].back(), Ms(summary.max_us));
  EXPECT_EQ(rows[1][2], "4.000");
  EXPECT_EQ(rows[1][3], "-");
}

TEST(PageTablesTest, OfflineQueriesAreInNoTableOfAChart) {
  RunResult run = Whole();
  run.points.resize(1);
  run.points[0].loop = "offline";
  run.points[0].query_rows = 2048;
  run.points[0].rows_rate = 1024;
  run.points[0].mean_rows = 8;
  for (const ReportTable& table :
       {MakeFrontierTable({run}, {}, {}), MakeRowsTable({run}),
        MakeBatchTable({run}), MakeCloseTable({run}), MakeBreakdownTable({run}),
        MakePercentileTable({run}), MakeTimelineTable({run})}) {
    EXPECT_THAT(table.rows, IsEmpty()) << table.headings.back();
  }
  EXPECT_EQ(MakeDeviceTable({run}).rows.size(), 1U);
  EXPECT_EQ(MakeOfflineBatchTable({run}).rows.size(), 2U);
  const std::string page = Page({run});
  EXPECT_THAT(page, HasSubstr("Batch sizes of offline queries"));
  EXPECT_THAT(page, Not(HasSubstr(Section("throughput"))));
  EXPECT_THAT(page, HasSubstr("<td>offline, 2048 rows</td>"));
  EXPECT_THAT(page, HasSubstr("mlp answered 1,024 rows/s of one query"));
}

TEST(PageTablesTest, BatchesOfOtherLoadsAreInNoTableOfOfflineQueries) {
  EXPECT_THAT(MakeOfflineBatchTable({Whole()}).rows, IsEmpty());
  EXPECT_THAT(Page({Whole()}), Not(HasSubstr("offline queries")));
}

TEST(DeviceTableTest, HasColumnsOfWhatIsTold) {
  EXPECT_THAT(MakeDeviceTable({Plain()}).rows, IsEmpty());
  RunResult run = Whole();
  EXPECT_THAT(MakeDeviceTable({run}).headings,
              ElementsAre("run", "load", "device", "utilization", "memory MiB",
                          "GPU power W"));
  run.points[0].device->utilization.reset();
  run.points[0].device->energy_j = 710;
  run.points[1].device = DeviceSummary{.name = "L4", .sm_clock_mhz = 1980};
  const ReportTable table = MakeDeviceTable({run});
  EXPECT_THAT(table.headings,
              ElementsAre("run", "load", "device", "utilization", "memory MiB",
                          "GPU power W", "GPU energy J", "SM clock MHz"));
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("on", "open, 700/s", "L4", "-", "3", "71",
                                      "710", "-"),
                          ElementsAre("on", "closed, 64 outstanding", "L4", "-",
                                      "-", "-", "-", "1980")));
}

TEST(PageTablesTest, TimelineHasRatesOfSlices) {
  RunResult run = Plain();
  run.points.resize(1);
  run.points[0].series = {
      {.end_s = 0.5,
       .planned = 350,
       .failed = 0,
       .p50_us = 4000,
       .p99_us = 9000},
      {.end_s = 1, .planned = 400, .failed = 10, .p50_us = 0, .p99_us = 0}};
  EXPECT_THAT(MakeTimelineTable({run}).rows,
              ElementsAre(ElementsAre("on", "open, 700/s", "0.50", "700", "0",
                                      "4.000", "9.000?"),
                          ElementsAre("on", "open, 700/s", "1.00", "800", "20",
                                      "-", "-")));
}

TEST(PageTablesTest, PercentilesOfFewRequestsHaveAQuestionMark) {
  RunResult run = Plain();
  run.points[0].ok = 999;
  const auto row = MakeUtilizationTable({run}).rows[0];
  EXPECT_EQ(row[4], "4.000");
  EXPECT_EQ(row[7], "12.00?");
  EXPECT_EQ(MakeOfferedTable({run}).rows[0][5], "12.00?");
  EXPECT_EQ(MakeFrontierTable({run}, {}, {}).rows[0][3], "12.00?");
  EXPECT_EQ(MakePercentileTable({run}).rows[0][6], "12.00?");
  run.points[0].latency_from_send = run.points[0].latency;
  EXPECT_EQ(MakeDetailTable({run}).rows[0][4], "12.00?");
  run.points[0].ok = 1000;
  EXPECT_EQ(MakeUtilizationTable({run}).rows[0][7], "12.00");
  EXPECT_EQ(MakeOfferedTable({run}).rows[0][5], "12.00");
  EXPECT_THAT(Page({run}), HasSubstr("\"p99\":1000"));
}

TEST(PageTest, LeavesOutWhatWasNotMeasured) {
  RunResult open = Plain();
  open.points.resize(1);
  const std::string page = Page({open});
  EXPECT_THAT(page, HasSubstr(Section("offered")));
  EXPECT_THAT(page, HasSubstr(Section("throughput")));
  for (const char* id : {"utilization", "rows", "settings", "breakdown",
                         "batches", "closes", "timeline", "money"}) {
    EXPECT_THAT(page, Not(HasSubstr(Section(id)))) << id;
  }
  EXPECT_THAT(page, Not(HasSubstr("{{"))) << "a placeholder was left";
  EXPECT_THAT(Page({}), HasSubstr("ferry-bench report"));
}

TEST(PageTest, ShowsWhatServerAndDeviceTold) {
  const std::string page = Page({Whole()});
  for (const char* id : {"breakdown", "batches", "closes"}) {
    EXPECT_THAT(page, HasSubstr(Section(id))) << id;
  }
  EXPECT_THAT(page, HasSubstr("<td>71</td>"));
}

TEST(PageTest, HasOfHistogramsOnlyWhatIsDrawn) {
  RunResult run = Whole();
  run.points[0].histograms.send_lag = run.points[0].histograms.latency;
  run.points[0].classes = {{.planned = 1,
                            .ok = 1,
                            .errors = {},
                            .latency = {},
                            .histogram = run.points[0].histograms.latency}};
  ASSERT_THAT(ToJson({run}), HasSubstr("\"histograms\""));
  const std::string page = Page({run});
  EXPECT_THAT(page, HasSubstr("\"histogram\":{\"count\":100,"));
  EXPECT_EQ(page.find("\"histogram\":{"), page.rfind("\"histogram\":{"));
  EXPECT_THAT(page, Not(HasSubstr("\"histograms\"")));
}

TEST(PageTest, RefusesAHistogramThatIsNone) {
  RunResult run = Whole();
  run.points[0].histograms.latency.count = 99;
  EXPECT_EQ(ToHtml({run}, {}).status().message(),
            "'on', open, 700/s: histogram: expected buckets that hold its "
            "count of 99, got 100");
}

TEST(PageTest, ScriptsAreToldTheSaturationOfEachRun) {
  RunResult unknown = Plain();
  unknown.label = "unknown";
  unknown.points.resize(1);
  unknown.points[0].busy_ratio = 0.5;
  const std::string page = Page({Plain(), unknown});
  EXPECT_THAT(page, HasSubstr("\"saturation\":[1000.0,null]"));
  EXPECT_THAT(page, HasSubstr("Latency against utilization</h3>"));
  EXPECT_THAT(page, HasSubstr("1000 (closed loop)"));
  const std::string busy = Page({unknown});
  EXPECT_THAT(busy, HasSubstr("Latency against the busy ratio</h3>"));
  EXPECT_THAT(busy, Not(HasSubstr("Shaded")));
}

TEST(PageTest, ScriptsAreToldWhichPointsAreTriesCarriedOrDoubted) {
  RunResult run = Plain();
  EXPECT_THAT(Page({run}), HasSubstr("\"tries\":[]"));
  run.points[0].purpose = "confirm: met";
  run.points.push_back(run.points[0]);
  run.points[2].purpose = "bisect: missed";
  const std::string page = Page({Plain(), run});
  EXPECT_THAT(page, HasSubstr("\"tries\":[[1,2]]"));
  EXPECT_THAT(page, HasSubstr("\"carried\":[[0,0],[0,1],[1,0],[1,1]]"));
  EXPECT_THAT(page, HasSubstr("\"doubts\":[]"));
  run.points[1].unsteady = "it paused";
  run.points[0].planned = 2 * run.points[0].ok;
  RunResult other = Plain();
  other.points[0].void_reason = "late";
  other.points[1].interrupted = true;
  const std::string doubted = Page({other, run});
  EXPECT_THAT(doubted, HasSubstr("\"carried\":[]"));
  EXPECT_THAT(doubted,
              HasSubstr("\"doubts\":[{\"at\":[0,0],\"why\":\"void: late\"},"
                        "{\"at\":[0,1],\"why\":\"cut short\"},"
                        "{\"at\":[1,0],\"why\":\"50.0 % failed\"},"
                        "{\"at\":[1,1],\"why\":\"unsteady: it paused\"}]"));
  EXPECT_THAT(page, HasSubstr("\"sub_bucket_bits\":7"));
}

TEST(PageTest, SaysWhatCellsOfSettingsAre) {
  RunResult small = Plain();
  small.runtime_options = RuntimeSetting{"window", 16, 1};
  RunResult large = small;
  large.runtime_options->max_batch_size = 64;
  large.points[0].latency.p99_us = 30'000;
  EXPECT_THAT(Page({small, large}),
              HasSubstr("The most requests/s that each setting served, "
                        "steadily and with 99 % successes;"));
  const std::string page = Page({small, large}, {.slo_ms = 20});
  EXPECT_THAT(page, HasSubstr("carries with p99 within 20 ms;"));
  EXPECT_THAT(page, HasSubstr("&lt; 700</td>"));
}

TEST(PageTest, DrawsTheBoundAndTheChosenPoint) {
  EXPECT_THAT(Page({Plain()}), HasSubstr("\"slo_ms\":null,\"chosen\":null"));
  const std::string page = Page({Plain()}, {.slo_ms = 20});
  EXPECT_THAT(page, HasSubstr("\"slo_ms\":20.0,\"chosen\":[0,0]"));
  EXPECT_THAT(page, HasSubstr("<td>chosen</td>"));
  EXPECT_THAT(page, HasSubstr("<p>mlp carries at least 700 requests/s with p99 "
                              "within 20 ms.</p>"));
}

TEST(NotMeasuredTest, IsMadeFromWhatIsAbsent) {
  const auto all = NotMeasured({Plain()}, false);
  EXPECT_THAT(all, Contains(HasSubstr("no busy ratio")));
  EXPECT_THAT(all, Contains(HasSubstr("the device's own counters")));
  EXPECT_THAT(all, Contains(HasSubstr("no price was given")));
  EXPECT_THAT(all, Not(Contains(HasSubstr("simulated"))));
  EXPECT_THAT(all, Not(Contains(HasSubstr("share a machine"))));

  RunResult known = Whole();
  known.points[0].busy_ratio = 0.5;
  known.points[0].p99_interval = Interval{1, 2};
  known.points[0].window_s = 120;
  EXPECT_THAT(NotMeasured({known}, true), IsEmpty());
}

TEST(NotMeasuredTest, SaysWhichOfTheDevicesCountersWereNotTold) {
  RunResult run = Whole();
  EXPECT_THAT(NotMeasured({run}, true), Not(Contains(HasSubstr("the device"))));
  DeviceSummary& device = *run.points[0].device;
  device.utilization.reset();
  EXPECT_THAT(NotMeasured({run}, true),
              Contains("the device's utilization: its counters told none"));
  device.memory_used_bytes.reset();
  EXPECT_THAT(NotMeasured({run}, true),
              AllOf(Contains(HasSubstr("the device's utilization")),
                    Contains(HasSubstr("the device's memory in use")),
                    Not(Contains(HasSubstr("own counters")))));
  device.power_w.reset();
  device.temperature_c = 45;
  const auto sentences = NotMeasured({run}, true);
  EXPECT_THAT(sentences, Contains(AllOf(HasSubstr("the device's own counters"),
                                        HasSubstr("--nvml"))));
  EXPECT_THAT(sentences, Not(Contains(HasSubstr("counters told none"))));
}

TEST(NotMeasuredTest, NobodyMeasuresThePowerOfASlice) {
  RunResult run = Whole();
  run.environment.device.emplace().device.gpu_uuid = "GPU-1";
  EXPECT_THAT(NotMeasured({run}, true),
              Contains(HasSubstr("the power of the slice alone")));
  run.points[0].device->power_w.reset();
  EXPECT_THAT(NotMeasured({run}, true),
              AllOf(Not(Contains(HasSubstr("the slice alone"))),
                    Contains(HasSubstr("the device's power"))));
}

TEST(NotMeasuredTest, NamesTheRunsThatLackIt) {
  RunResult closed = Plain();
  closed.label = "closed";
  closed.points.erase(closed.points.begin());
  closed.is_simulated = true;
  EXPECT_THAT(NotMeasured({Plain(), closed}, true),
              AllOf(Contains(AllOf(HasSubstr("only closed loops"),
                                   HasSubstr("(of 'closed')"))),
                    Contains(AllOf(HasSubstr("the device is simulated"),
                                   HasSubstr("(of 'closed')")))));
}

TEST(NotMeasuredTest, AnOfflineQueryIsNoClosedLoop) {
  RunResult run = Plain();
  run.points.resize(1);
  run.points[0].loop = "offline";
  const auto sentences = NotMeasured({run}, true);
  EXPECT_THAT(sentences, Contains(HasSubstr("no open loop was run")));
  EXPECT_THAT(sentences, Contains(HasSubstr("utilization: no closed loop")));
  EXPECT_THAT(sentences, Not(Contains(HasSubstr("only closed loops"))));
}

TEST(NumberTextTest, ShowsTheFiguresThatCount) {
  EXPECT_EQ(MsInWords(1234), "1.23 ms");
  EXPECT_EQ(MsInWords(9996), "10.0 ms");
  EXPECT_EQ(MsInWords(123400), "123 ms");
  EXPECT_EQ(RateInWords(1.25), "1.25");
  EXPECT_EQ(RateInWords(85.25), "85.2");
  EXPECT_EQ(RateInWords(3869.6), "3,870");
  EXPECT_EQ(Grouped(-1234567), "-1,234,567");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Percent(0), "0 %");
  EXPECT_EQ(Percent(0.0004), "0.040 %");
  EXPECT_EQ(Percent(0.0325), "3.25 %");
  EXPECT_EQ(Percent(1), "100.0 %");
}

}  // namespace
}  // namespace ferry::bench
