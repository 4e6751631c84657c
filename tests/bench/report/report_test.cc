// Tests that results to table, JSON and page lose nothing measured on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "bench/report/config_hash.h"
#include "bench/report/rate_comparison.h"
#include "bench/report/report_assets.h"
#include "bench/report/report_html.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PointResult OpenPoint(double rate) {
  PointResult point;
  point.loop = "open";
  point.target_rate = rate;
  point.offered_rate = rate + 1;
  point.achieved_rate = rate - 2;
  point.load = 0.7;
  point.window_s = 5;
  point.seed = 12;
  point.planned = 5000;
  point.ok = 4990;
  point.errors = {{"RESOURCE_EXHAUSTED", 7}, {"UNAVAILABLE", 3}};
  point.latency = {1234, 2345, 2999, 3456, 45678, 56789, 456789, 1500};
  point.latency_from_send = {1111,  2222,  2888,   3333,
                             44444, 55555, 455555, 1400};
  point.send_lag = {21, 31, 35, 41, 51, 55, 61, 22};
  point.mean_interval = Interval{1450, 1550};
  point.p99_interval = Interval{3300, 3600, 7.5};
  point.series = {{.end_s = 0.5,
                   .planned = 500,
                   .failed = 1,
                   .p50_us = 1200,
                   .p99_us = 3400,
                   .lag_p50_us = 20,
                   .lag_p99_us = 90}};
  point.classes = {{.planned = 4000,
                    .ok = 4000,
                    .errors = {},
                    .latency = {1200, 2300, 2900, 3400, 4400, 5500, 6600, 1400},
                    .histogram = {2, 300, 100, 200, {{100, 1}, {200, 1}}}},
                   {.planned = 1000,
                    .ok = 990,
                    .errors = {{"UNAVAILABLE", 10}},
                    .latency = {},
                    .histogram = {}}};
  point.unsteady = "the median latency went up";
  point.mean_rows = 17.25;
  point.busy_ratio = 0.64;
  point.busy_source = "metrics";
  point.begun = "2030-01-02T03:04:05.678Z";
  point.server_times = ServerTimes{120.125, 3, 901.25, 2.5};
  point.batches = {{1, 20}, {64, 100}};
  point.closed = {{"full", 100}, {"max_wait", 3}};
  point.device = DeviceSummary{.name = "L4",
                               .utilization = 0.43,
                               .memory_used_bytes = 1 << 20,
                               .power_w = {},
                               .energy_j = 355.5,
                               .dram_ratio = 0.5};
  point.histograms.latency = {3, 6000, 1000, 3000, {{1003, 1}, {2511, 2}}};
  point.histograms.latency_from_send = {1, 900, 900, 900, {{903, 1}}};
  point.histograms.failed_latency = {1, 7, 7, 7, {{7, 1}}};
  point.histograms.send_lag = {1, 8, 8, 8, {{8, 1}}};
  return point;
}

std::vector<RunResult> TwoRuns() {
  RunResult off;
  off.label = "batching off";
  off.model = "mlp";
  off.cpu = "A <processor> & \"more\"";
  off.saturation_rate = 1000;
  off.classes = {"small", "large"};
  off.runtime_options = RuntimeSetting{"window", 32, 2.5};
  off.environment = {.governor = "performance",
                     .load_average = {0.25, 0.5, 0.75},
                     .memory_bytes = uint64_t{3} << 30,
                     .grpc_version = "1.2.3",
                     .compiler = "GCC 9",
                     .build = "ferry-bench-1-abc",
                     .server_extensions = {"statistics", "schedule_policy"},
                     .instances = "2 x KIND_CPU",
                     .model_config_sha256 = "0123456789abcdef01234567",
                     .flags = {{"rates", "700"}, {"rows", "1"}}};
  off.environment.device = DeviceFacts{.device = {.name = "NVIDIA L4",
                                                  .uuid = "GPU-1",
                                                  .gpu_uuid = "",
                                                  .driver_version = "580.95",
                                                  .source = "NVML"},
                                       .memory_bytes = 24e9,
                                       .power_limit_w = 72,
                                       .sm_clock_mhz = 2040,
                                       .memory_clock_mhz = {}};
  off.data = "inputs.json";
  off.points = {OpenPoint(700)};
  PointResult closed = OpenPoint(0);
  closed.loop = "closed";
  closed.outstanding = 64;
  closed.achieved_rate = 1000;
  closed.load.reset();
  closed.busy_ratio.reset();
  closed.void_reason = "the client was late: very";
  off.points.push_back(closed);
  RunResult on = off;
  on.label = "batching on";
  on.points[0].achieved_rate = 6980;
  return {off, on};
}

TEST(ReportJsonTest, RoundTripKeepsEverything) {
  const std::string json = ToJson(TwoRuns());
  const auto parsed = ParseJson(json, "x.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(ToJson(*parsed), json);
  EXPECT_EQ(parsed->size(), 2U);
  EXPECT_EQ((*parsed)[0].points[0].errors.at("UNAVAILABLE"), 3U);
  EXPECT_FALSE((*parsed)[0].points[1].busy_ratio.has_value());
  EXPECT_EQ((*parsed)[0].data, "inputs.json");
  EXPECT_THAT(json, HasSubstr(HashOfFlags((*parsed)[0].environment.flags)));
  EXPECT_EQ((*parsed)[0].environment.build, "ferry-bench-1-abc");
  const PointResult& point = (*parsed)[0].points[0];
  ASSERT_TRUE(point.device.has_value());
  EXPECT_EQ(point.device->name, "L4");
  EXPECT_EQ(point.device->memory_used_bytes, 1 << 20);
  EXPECT_FALSE(point.device->power_w.has_value());
  EXPECT_EQ(point.device->energy_j, 355.5);
  EXPECT_EQ(point.device->dram_ratio, 0.5);
  EXPECT_FALSE(point.device->sm_ratio.has_value());
  const auto& device = (*parsed)[0].environment.device;
  ASSERT_TRUE(device.has_value());
  EXPECT_EQ(device->device.name, "NVIDIA L4");
  EXPECT_EQ(device->device.driver_version, "580.95");
  EXPECT_FALSE(device->device.is_slice());
  EXPECT_EQ(device->sm_clock_mhz, 2040);
  EXPECT_FALSE(device->memory_clock_mhz.has_value());
}

TEST(ReportJsonTest, OneFieldOfADeviceIsItsOwn) {
  // Each has another number, so that none is read for another.
  const DeviceSummary device = {.name = "L4",
                                .utilization = 0.1,
                                .memory_used_bytes = 2,
                                .power_w = 3,
                                .energy_j = 4,
                                .temperature_c = 5,
                                .sm_clock_mhz = 6,
                                .sm_ratio = 0.7,
                                .tensor_ratio = 0.8,
                                .dram_ratio = 0.9};
  RunResult run = TwoRuns()[0];
  run.points.resize(1);
  run.points[0].device = device;
  const std::string compact =
      absl::StrReplaceAll(ToJson({run}), {{"\n", ""}, {" ", ""}});
  EXPECT_THAT(
      compact,
      HasSubstr(R"("device":{"name":"L4","utilization":0.1,)"
                R"("memory_used_bytes":2.0,"power_w":3.0,"energy_j":4.0,)"
                R"("temperature_c":5.0,"sm_clock_mhz":6.0,"sm_ratio":0.7,)"
                R"("tensor_ratio":0.8,"dram_ratio":0.9})"));
  EXPECT_THAT(compact,
              HasSubstr(R"("device":{"name":"NVIDIAL4","uuid":"GPU-1",)"
                        R"("driver_version":"580.95","source":"NVML",)"
                        R"("memory_bytes":24000000000.0,"power_limit_w":72.0,)"
                        R"("sm_clock_mhz":2040.0})"));
}

TEST(ReportJsonTest, ServerAndHistogramHaveTheFieldsThatReadersKnow) {
  const std::string json = ToJson(TwoRuns());
  const std::string compact =
      absl::StrReplaceAll(json, {{"\n", ""}, {" ", ""}});
  EXPECT_THAT(
      compact,
      HasSubstr(R"("server":{"queue_us":120.125,"compute_input_us":3.0,)"
                R"("compute_infer_us":901.25,"compute_output_us":2.5,)"
                R"("batches":{"1":20,"64":100},)"
                R"("close_reasons":{"full":100,"max_wait":3}},)"));
  EXPECT_THAT(compact,
              HasSubstr(R"("histogram":{"count":3,"sum_ns":6000,"min_ns":1000,)"
                        R"("max_ns":3000,"buckets":[[1003,1],[2511,2]]})"));
  EXPECT_THAT(json, HasSubstr("\"buckets\": [[1003, 1], [2511, 2]]"))
      << "on one line";
}

TEST(ReportJsonTest, WhatTheServerDoesNotTellIsAbsent) {
  RunResult run = TwoRuns()[0];
  run.points.resize(1);
  PointResult& point = run.points[0];
  point.server_times.reset();
  point.batches.clear();
  EXPECT_THAT(ToJson({run}), Not(HasSubstr("queue_us")));
  EXPECT_THAT(ToJson({run}), Not(HasSubstr("\"batches\"")));
  EXPECT_THAT(ToJson({run}), HasSubstr("close_reasons"));
  point.closed.clear();
  EXPECT_THAT(ToJson({run}), Not(HasSubstr("close_reasons")));
  point.histograms = {};
  point.classes.clear();
  EXPECT_THAT(ToJson({run}), Not(HasSubstr("histogram")));
}

TEST(ReportJsonTest, FilesOfBeforeThereWereServersAndHistogramsAreRead) {
  const auto runs =
      ReadRuns({std::string(FERRY_SOURCE_DIR) + "/bench/results/demo.json"});
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_FALSE(runs->front().points.empty());
  const PointResult& point = runs->front().points.front();
  EXPECT_GT(point.ok, 0U);
  if (point.begun.empty()) {  // written before them
    EXPECT_FALSE(point.server_times.has_value());
    EXPECT_EQ(point.histograms.latency.count, 0U);
  }
  EXPECT_FALSE(MakeTable(*runs).rows.empty());
}

TEST(ReportJsonTest, ADeviceThatTellsNothingIsAsNone) {
  RunResult run = TwoRuns()[0];
  run.points.resize(1);
  run.points[0].device.reset();
  run.environment.device.reset();
  EXPECT_THAT(ToJson({run}), Not(HasSubstr("\"device\"")));
  for (const char* device : {"null", R"({"name": null, "power_w": null})"}) {
    std::string json = ToJson({run});
    json.insert(json.find("\"loop\""),
                std::string("\"device\": ") + device + ", ");
    const auto parsed = ParseJson(json, "x.json");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const auto& read = (*parsed)[0].points[0].device;
    EXPECT_EQ(read.value_or(DeviceSummary()).name, "");
    EXPECT_FALSE(read.value_or(DeviceSummary()).power_w.has_value());
  }
}

TEST(ReportJsonTest, OlderFilesNameNoArrivals) {
  auto runs = TwoRuns();
  runs[0].points[0].arrivals = "gamma:3";
  std::string json = ToJson(runs);
  const std::string field = "\"arrivals\": \"gamma:3\",";
  ASSERT_THAT(json, HasSubstr(field));
  json.erase(json.find(field), field.size());
  const auto parsed = ParseJson(json, "x.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)[0].points[0].arrivals, "");
  EXPECT_EQ(DescribeLoad((*parsed)[0].points[0]), "open, 70 % load");
}

// Returns what the table says of points that are void for that reason.
std::vector<std::string> AdviceOn(const std::string& reason,
                                  const std::string& address = "[::1]:8001") {
  RunResult run;
  run.address = address;
  run.points = {OpenPoint(100), OpenPoint(200)};
  for (PointResult& point : run.points) {
    point.void_reason = reason;
  }
  std::vector<std::string> notes = MakeTable({run}).notes;
  std::erase_if(notes, [](const std::string& note) {
    return note.find("void as ") == std::string::npos;
  });
  return notes;
}

TEST(ReportTableTest, WhatToDoAboutVoidPointsStandsOnce) {
  LoadResult load;
  load.planned = 1000;
  RecordLatency(load.send_lag, Milliseconds(2));
  RecordLatency(load.latency, Milliseconds(4));
  const std::vector<std::string> late = AdviceOn(VoidReason(load));
  EXPECT_THAT(late, ElementsAre(HasSubstr("--connections 1 --queues 1")));
  EXPECT_EQ(AdviceOn("in a.json: " + VoidReason(load)), late) << "of merge";
  const std::string in_process = "";
  EXPECT_THAT(AdviceOn(VoidReason(load), in_process),
              ElementsAre(AllOf(HasSubstr("the client was late"),
                                Not(HasSubstr("server")),
                                Not(HasSubstr("--connections")))));
  load.held_back = 2;
  const std::vector<std::string> held_back = AdviceOn(VoidReason(load));
  EXPECT_THAT(
      held_back,
      ElementsAre(HasSubstr("lower the rate, or raise --max-outstanding")));
  EXPECT_EQ(AdviceOn(VoidReason(load), in_process), held_back);
  load.not_sent = 3;
  EXPECT_EQ(AdviceOn(VoidReason(load)), held_back) << "no call was free";
  EXPECT_THAT(AdviceOn(VoidReason(LoadResult())), IsEmpty());
  EXPECT_THAT(AdviceOn(""), IsEmpty());
}

TEST(ReportJsonTest, WrongFilesAreNamed) {
  const struct {
    const char* text;
    const char* found;
  } cases[] = {{"root:x:0", "found parse error at line 1, column 1: "},
               {"", "found parse error at line 1, column 1: "},
               {"{", "found parse error at line 1, column 2: "},
               {"{}", "found JSON without a format"},
               {"[1]", "found JSON without a format"},
               {R"({"format":2})", "found format 2"},
               {R"({"format":"ferry-bench-soak/1"})",
                "found format \"ferry-bench-soak/1\""},
               {R"({"format":"ferry-bench/1","runs":[{}]})",
                "found key 'label' not found"}};
  for (const auto& one : cases) {
    EXPECT_THAT(ParseJson(one.text, "x.json").status().message(),
                AllOf(HasSubstr("x.json: expected a result that ferry-bench "
                                "wrote with --json (format "
                                "\"ferry-bench/1\"), found "),
                      HasSubstr(one.found), Not(HasSubstr("json.exception"))));
  }
  EXPECT_EQ(ReadRuns({"/nonexistent.json"}).status().message(),
            "cannot read /nonexistent.json: No such file or directory");
  EXPECT_EQ(ReadRuns({"/"}).status().message(),
            "cannot read /: Is a directory");
}

TEST(ReportTableTest, HasARowForEachPointOfEachRun) {
  const ReportTable table = MakeTable(TwoRuns());
  ASSERT_EQ(table.rows.size(), 4U);
  for (const auto& row : table.rows) {
    EXPECT_EQ(row.size(), table.headings.size());
  }
  const std::string text = ToText(table);
  EXPECT_THAT(text, HasSubstr("7 RESOURCE_EXHAUSTED, 3 UNAVAILABLE"));
  EXPECT_THAT(text, HasSubstr("open, 70 % load"));
  EXPECT_THAT(text, HasSubstr("closed, 64 outstanding"));
  EXPECT_THAT(text, HasSubstr("the client was late: very"));
}

TEST(ReportTableTest, NamesArrivalsThatAreNotPoisson) {
  PointResult point = OpenPoint(700);
  point.arrivals = "poisson";
  EXPECT_EQ(DescribeLoad(point), "open, 70 % load");
  point.arrivals = "bursts:8";
  EXPECT_EQ(DescribeLoad(point), "open, 70 % load, bursts:8");
  point.load.reset();
  EXPECT_EQ(DescribeLoad(point), "open, 700/s, bursts:8");
}

TEST(ReportTableTest, QueryIsToldInRowsAndHasNoLag) {
  auto runs = TwoRuns();
  PointResult query = OpenPoint(0);
  query.loop = "offline";
  query.load.reset();
  query.outstanding = 4;
  query.query_rows = 24576;
  query.window_s = 3;
  query.rows_rate = 8192;
  query.achieved_rate = 9e9;
  runs[1].points = {query};
  runs[1].rows_per_request = 64;
  const ReportTable table = MakeTable(runs);
  EXPECT_EQ(table.rows.back()[1], "offline, 24576 rows");
  const auto lag =
      std::find(table.headings.begin(), table.headings.end(), "lag p99 ms");
  ASSERT_NE(lag, table.headings.end());
  EXPECT_EQ(
      table.rows.back()[static_cast<size_t>(lag - table.headings.begin())],
      "-");
  EXPECT_THAT(ToText(table),
              HasSubstr("'batching on' answered a query of 24576 rows, 64 a "
                        "request and at most 4 requests at a time, in 3.000 s: "
                        "8192.0 rows/s"));
  EXPECT_TRUE(Compare(runs).empty()) << "its requests are not the others'";
  runs[1].points[0].interrupted = true;
  EXPECT_THAT(ToText(MakeTable(runs)),
              HasSubstr("'batching on' did not end a query of 24576 rows"));
  const auto parsed = ParseJson(ToJson(runs), "x.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->back().points[0].query_rows, 24576U);
  EXPECT_EQ(parsed->back().points[0].rows_rate, 8192);
  EXPECT_FALSE(parsed->front().points[0].rows_rate.has_value());
}

std::string Page(const std::vector<RunResult>& runs) {
  const auto page = ToHtml(runs, {});
  EXPECT_TRUE(page.ok()) << page.status();
  return page.value_or("");
}

TEST(ReportHtmlTest, ShowsEveryNumberOfTheTables) {
  const auto runs = TwoRuns();
  const std::string page = Page(runs);
  for (const ReportTable& table : {MakeTable(runs), MakeDetailTable(runs)}) {
    for (const auto& row : table.rows) {
      for (const std::string& cell : row) {
        EXPECT_THAT(page, HasSubstr("<td>" + cell + "</td>"));
      }
    }
  }
  EXPECT_THAT(page, HasSubstr("45.68"));
  EXPECT_THAT(page, HasSubstr("17.25"));
  EXPECT_THAT(page, HasSubstr("0.64"));
  EXPECT_THAT(page, HasSubstr("<td>0.120</td>")) << "queue";
  EXPECT_THAT(page, HasSubstr("<td>0.901</td>")) << "compute";
  EXPECT_THAT(page, HasSubstr("<td>100 full, 3 max_wait</td>"));
  for (const char* environment :
       {"performance", "0.25 0.50 0.75", "3.0", "gRPC 1.2.3, GCC 9",
        "2 x KIND_CPU", "statistics schedule_policy", "ferry-bench-1-abc",
        "<dd>0123456789abcdef</dd>"}) {
    EXPECT_THAT(page, HasSubstr(environment));
  }
}

TEST(ReportHtmlTest, ChartsHaveTheNumbersAndTheLibrary) {
  const std::string page = Page(TwoRuns());
  EXPECT_THAT(page, HasSubstr("\"p999_us\":45678.0"));
  EXPECT_THAT(page, HasSubstr(std::string(kChartLibrary).substr(0, 200)));
  EXPECT_THAT(page, Not(HasSubstr("{{"))) << "a placeholder was left";
}

TEST(ReportHtmlTest, NeedsNoNetwork) {
  const std::string frame =
      std::string(kReportPage) + kReportStyle + kReportScript;
  for (const char* fetch :
       {"src=", "href=", "@import", "url(", "fetch(", "http://", "https://"}) {
    EXPECT_THAT(frame, Not(HasSubstr(fetch)));
  }
}

TEST(ReportHtmlTest, TextCannotBecomeMarkup) {
  auto runs = TwoRuns();
  runs[0].label = "</script><b>";
  const std::string page = Page(runs);
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("A &lt;processor&gt; &amp; &quot;more&quot;"));
}

TEST(ReportHtmlTest, SimulatedDeviceIsMarked) {
  auto runs = TwoRuns();
  EXPECT_THAT(Page(runs), Not(HasSubstr("<div class=\"watermark\">")));
  runs[1].is_simulated = true;
  EXPECT_THAT(Page(runs), HasSubstr("<div class=\"watermark\">"));
  EXPECT_THAT(ToText(MakeTable(runs)), HasSubstr("simulated device"));
}

}  // namespace
}  // namespace ferry::bench
