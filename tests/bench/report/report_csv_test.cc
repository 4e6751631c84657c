// Tests the files that other tools read.
#include "bench/report/report_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "bench/report/point_rules.h"

namespace ferry::bench {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A closed loop of 4 and an open one of 100/s, of two rows a request.
std::vector<RunResult> Runs() {
  RunResult run;
  run.label = "a, \"b\"";
  run.model = "mlp";
  run.rows_per_request = 2;
  PointResult& closed = run.points.emplace_back();
  closed.loop = "closed";
  closed.outstanding = 4;
  closed.achieved_rate = 50.5;
  closed.planned = 101;
  closed.ok = 101;
  closed.server_times = ServerTimes{120.4, 3, 900.6, 2};
  closed.latency_from_send.mean_us = 1099;
  closed.seed = 7;
  closed.latency = {1000, 2000, 2500, 3000, 4000, 5000, 6000, 1100.5};
  PointResult open = closed;
  closed.device = DeviceSummary{.utilization = 0.25, .power_w = 71.5};
  open.server_times.reset();
  open.loop = "open";
  open.target_rate = 100;
  open.rows_rate = 8192;
  open.begun = "2030-01-02T03:04:05.678Z";
  open.arrivals = "gamma:3";
  run.points.push_back(open);
  return {run};
}

TEST(ReportCsvTest, EachLineHasAllColumns) {
  const std::vector<std::string> lines =
      absl::StrSplit(ToCsv(Runs()), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3U);
  const size_t commas =
      static_cast<size_t>(std::count(lines[0].begin(), lines[0].end(), ','));
  EXPECT_EQ(commas, 54U);
  EXPECT_THAT(lines[0], HasSubstr(",void,unsteady,mean_us,p50_us,"))
      << "columns keep their places";
  EXPECT_THAT(lines[0], HasSubstr("mean_us,p50_us,p90_us,p95_us,p99_us"));
  EXPECT_THAT(lines[1], StartsWith("\"a, \"\"b\"\"\",mlp,closed,4,0,"));
  EXPECT_THAT(lines[1], HasSubstr("1100.5,1000,2000,2500,3000,4000,5000,6000"));
  EXPECT_THAT(lines[0],
              EndsWith(",queue_us,compute_input_us,"
                       "compute_infer_us,compute_output_us,"
                       "rows_rate,begun,arrivals,seed,"
                       "device_utilization,device_memory_used_bytes,"
                       "device_power_w,device_energy_j,slo_ms,goodput_rate,"
                       "saturation_doubt"));
  EXPECT_THAT(lines[1], EndsWith(",120.4,3,900.6,2,,,,7,0.25,,71.5,,,,"))
      << "the device did not tell all";
  EXPECT_THAT(lines[2], EndsWith(",0,,,,,8192,2030-01-02T03:04:05.678Z,"
                                 "gamma:3,7,,,,,,,"))
      << "the server did not tell";
  // One comma is in quotes.
  EXPECT_EQ(std::count(lines[1].begin(), lines[1].end(), ','), commas + 1);
}

TEST(ReportCsvTest, PerfAnalyzersColumnsAreThere) {
  EXPECT_EQ(
      ToPerfAnalyzerCsv(Runs()),
      "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,"
      "Server Queue,Server Compute Input,Server Compute Infer,"
      "Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,"
      "p99 latency\n"
      "4,101.000,0,73,120,3,901,2,0,1000,2000,2500,3000\n"
      "Request Rate,Inferences/Second,Client Send,Network+Server Send/Recv,"
      "Server Queue,Server Compute Input,Server Compute Infer,"
      "Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,"
      "p99 latency\n"
      "100,101.000,0,1099,0,0,0,0,0,1000,2000,2500,3000\n");
  auto runs = Runs();
  EXPECT_EQ(NotForOtherTools(runs), 0U);
  runs[0].points[0].void_reason = "the client was late";
  EXPECT_THAT(ToPerfAnalyzerCsv(runs), StartsWith("Request Rate,"));
  EXPECT_EQ(NotForOtherTools(runs), 1U);
  runs[0].points[1].loop = "offline";
  EXPECT_EQ(ToPerfAnalyzerCsv(runs), "");
  EXPECT_EQ(NotForOtherTools(runs), 2U);
}

TEST(ReportCsvTest, MarkdownIsOneTableWithNotes) {
  const ReportTable table = {
      .headings = {"a", "b|c"}, .rows = {{"1", "2"}}, .notes = {"void: 1"}};
  EXPECT_EQ(ToMarkdown(table),
            "| a | b\\|c |\n| --- | --- |\n| 1 | 2 |\n\n- void: 1\n");
  EXPECT_EQ(ToMarkdown({.headings = {}, .rows = {}, .notes = {"void: 1"}}),
            "- void: 1\n");
}

}  // namespace
}  // namespace ferry::bench
