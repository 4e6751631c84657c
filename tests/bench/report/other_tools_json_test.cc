// Tests the files that stand in for those of AIPerf and inference-perf.
#include "bench/report/other_tools_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "bench/report/goodput.h"
#include "bench/report/report_files.h"
#include "bench/report/report_json.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Json = nlohmann::json;

LatencyHistogram Of(int count, uint64_t each_ns) {
  LatencyHistogram histogram;
  for (int i = 0; i < count; ++i) {
    histogram.Record(each_ns);
  }
  return histogram;
}

// 4 outstanding for 2 s: 6 successes of 2 ms, 2 failures after 1 ms.
PointResult Closed() {
  PointResult point;
  point.loop = "closed";
  point.outstanding = 4;
  point.window_s = 2;
  point.begun = "2030-01-02T03:04:05.678Z";
  point.planned = 8;
  point.ok = 6;
  point.errors = {{"INTERNAL", 1}, {"UNAVAILABLE", 1}};
  point.offered_rate = 4;
  point.achieved_rate = 3;
  point.histograms = {.latency = RecordOf(Of(6, 2'500'000)),
                      .latency_from_send = RecordOf(Of(6, 2'000'000)),
                      .failed_latency = RecordOf(Of(2, 1'000'000)),
                      .send_lag = RecordOf(Of(8, 500'000))};
  return point;
}

// 50/s for 10 s: 500 successes, of 1 us to 500 us.
PointResult Open() {
  LatencyHistogram latency;
  for (uint64_t us = 1; us <= 500; ++us) {
    latency.Record(us * 1000);
  }
  PointResult point;
  point.loop = "open";
  point.target_rate = 50;
  point.seed = 7;
  point.window_s = 10;
  point.planned = 500;
  point.ok = 500;
  point.offered_rate = 50;
  point.achieved_rate = 49;
  point.histograms = {.latency = RecordOf(latency),
                      .latency_from_send = RecordOf(latency),
                      .failed_latency = {},
                      .send_lag = RecordOf(Of(500, 1000))};
  return point;
}

RunResult RunOf(std::vector<PointResult> points) {
  RunResult run;
  run.label = "on";
  run.command = "ferry-bench run -m mlp";
  run.model = "mlp";
  run.points = std::move(points);
  return run;
}

std::vector<std::string> Names(const std::vector<FileText>& files) {
  std::vector<std::string> names;
  for (const FileText& file : files) {
    names.push_back(file.name);
  }
  return names;
}

Json ParsedFile(const std::vector<FileText>& files, size_t index) {
  return Json::parse(files.at(index).text);
}

TEST(OtherToolsJsonTest, AiperfHasAFileForAPoint) {
  const auto files = ToAiperf({RunOf({Closed()})});
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(Names(*files),
              ElementsAre("run_0001/profile_export_aiperf.json"));
  EXPECT_EQ(files->front().text, R"({
  "schema_version": "1.4",
  "request_throughput": {
    "unit": "requests/sec",
    "avg": 3.0
  },
  "request_latency": {
    "unit": "ms",
    "avg": 2.0,
    "min": 2.0,
    "max": 2.0,
    "p1": 2.0,
    "p5": 2.0,
    "p10": 2.0,
    "p25": 2.0,
    "p50": 2.0,
    "p75": 2.0,
    "p90": 2.0,
    "p95": 2.0,
    "p99": 2.0,
    "count": 6,
    "sum": 12.0
  },
  "request_count": {
    "unit": "requests",
    "avg": 6.0
  },
  "error_request_count": {
    "unit": "requests",
    "avg": 2.0
  },
  "benchmark_duration": {
    "unit": "sec",
    "avg": 2.0
  },
  "run_info": {
    "run_label": "on",
    "variation_label": "concurrency_4",
    "variation_index": 0,
    "variation_values": {
      "phases.profiling.concurrency": 4
    },
    "cli_command": "ferry-bench run -m mlp"
  },
  "was_cancelled": false,
  "error_summary": [
    {
      "error_details": {
        "type": "INTERNAL",
        "message": "INTERNAL"
      },
      "count": 1
    },
    {
      "error_details": {
        "type": "UNAVAILABLE",
        "message": "UNAVAILABLE"
      },
      "count": 1
    }
  ],
  "start_time": "2030-01-02T03:04:05.678Z",
  "end_time": "2030-01-02T03:04:07.678Z"
}
)");
}

TEST(OtherToolsJsonTest, AiperfTellsRateSeedAndPercentilesOfAnOpenLoop) {
  const auto files = ToAiperf({RunOf({Closed(), Open()})});
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(Names(*files),
              ElementsAre("run_0001/profile_export_aiperf.json",
                          "run_0002/profile_export_aiperf.json"));
  const Json json = ParsedFile(*files, 1);
  EXPECT_EQ(json.at("run_info").at("variation_label"), "request_rate_50");
  EXPECT_EQ(json.at("run_info").at("variation_index"), 1);
  EXPECT_EQ(json.at("run_info").at("variation_values"),
            Json({{"phases.profiling.rate", 50}}));
  EXPECT_EQ(json.at("run_info").at("random_seed"), 7);
  EXPECT_EQ(json.at("error_request_count").at("avg"), 0);
  EXPECT_THAT(json.at("error_summary"), IsEmpty());
  EXPECT_FALSE(json.contains("start_time")) << "older files do not tell it";
  EXPECT_FALSE(json.contains("goodput")) << "no bound was asked for";
  const Json& latency = json.at("request_latency");
  for (const auto& [name, ms] : std::map<std::string, double>{{"p1", 0.005},
                                                              {"p5", 0.025},
                                                              {"p10", 0.05},
                                                              {"p25", 0.125},
                                                              {"p50", 0.25},
                                                              {"p75", 0.375},
                                                              {"p90", 0.45},
                                                              {"p95", 0.475},
                                                              {"p99", 0.495}}) {
    EXPECT_NEAR(latency.at(name).get<double>(), ms, 0.002 + ms * 0.004) << name;
  }
  EXPECT_DOUBLE_EQ(latency.at("min").get<double>(), 0.001);
  EXPECT_DOUBLE_EQ(latency.at("max").get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(latency.at("avg").get<double>(), 0.2505);
}

TEST(OtherToolsJsonTest, InferencePerfHasAStageForAPoint) {
  const auto files = ToInferencePerf({RunOf({Closed()})});
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(Names(*files), ElementsAre("stage_0_lifecycle_metrics.json",
                                         "summary_lifecycle_metrics.json"));
  EXPECT_EQ(files->front().text, R"({
  "benchmark_time_seconds": 2.0,
  "load_summary": {
    "count": 8,
    "schedule_delay": {
      "mean": 0.0005,
      "min": 0.0005,
      "max": 0.0005,
      "p0.1": 0.0005,
      "p1": 0.0005,
      "p5": 0.0005,
      "p10": 0.0005,
      "p25": 0.0005,
      "median": 0.0005,
      "p75": 0.0005,
      "p90": 0.0005,
      "p95": 0.0005,
      "p99": 0.0005,
      "p99.9": 0.0005
    },
    "send_duration": 2.0,
    "achieved_rate": 4.0,
    "concurrency": 4
  },
  "successes": {
    "count": 6,
    "latency": {
      "request_latency": {
        "mean": 0.002,
        "min": 0.002,
        "max": 0.002,
        "p0.1": 0.002,
        "p1": 0.002,
        "p5": 0.002,
        "p10": 0.002,
        "p25": 0.002,
        "median": 0.002,
        "p75": 0.002,
        "p90": 0.002,
        "p95": 0.002,
        "p99": 0.002,
        "p99.9": 0.002
      }
    },
    "throughput": {
      "requests_per_sec": 3.0
    }
  },
  "failures": {
    "count": 2,
    "request_latency": {
      "mean": 0.001,
      "min": 0.001,
      "max": 0.001,
      "p0.1": 0.001,
      "p1": 0.001,
      "p5": 0.001,
      "p10": 0.001,
      "p25": 0.001,
      "median": 0.001,
      "p75": 0.001,
      "p90": 0.001,
      "p95": 0.001,
      "p99": 0.001,
      "p99.9": 0.001
    },
    "by_label": {
      "INTERNAL": {
        "count": 1,
        "messages": []
      },
      "UNAVAILABLE": {
        "count": 1,
        "messages": []
      }
    }
  }
}
)");
}

TEST(OtherToolsJsonTest, InferencePerfSummaryAddsStagesUp) {
  const auto files = ToInferencePerf({RunOf({Closed()}), RunOf({Open()})});
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(Names(*files), ElementsAre("stage_0_lifecycle_metrics.json",
                                         "stage_1_lifecycle_metrics.json",
                                         "summary_lifecycle_metrics.json"));
  const Json open = ParsedFile(*files, 1);
  EXPECT_EQ(open.at("load_summary").at("requested_rate"), 50);
  EXPECT_EQ(open.at("load_summary").at("achieved_rate"), 50);
  EXPECT_FALSE(open.at("load_summary").contains("concurrency"));
  EXPECT_EQ(open.at("failures").at("request_latency"), Json())
      << "none failed: null, as inference-perf writes";
  const Json all = ParsedFile(*files, 2);
  EXPECT_EQ(all.at("benchmark_time_seconds"), 12);
  EXPECT_EQ(all.at("load_summary").at("count"), 508);
  EXPECT_FALSE(all.at("load_summary").contains("achieved_rate"));
  const Json& successes = all.at("successes");
  EXPECT_EQ(successes.at("count"), 506);
  EXPECT_DOUBLE_EQ(
      successes.at("throughput").at("requests_per_sec").get<double>(),
      (6 + 490) / 12.0);
  EXPECT_DOUBLE_EQ(
      successes.at("latency").at("request_latency").at("max").get<double>(),
      0.002);
  EXPECT_DOUBLE_EQ(
      successes.at("latency").at("request_latency").at("min").get<double>(),
      1e-6);
  EXPECT_EQ(all.at("failures").at("count"), 2);
  EXPECT_EQ(all.at("failures").at("by_label").at("INTERNAL").at("count"), 1);
}

TEST(OtherToolsJsonTest, GoodputIsThereWhereABoundWasAskedFor) {
  RunResult run = RunOf({Open()});
  SetGoodput(0.1, run);
  ASSERT_TRUE(run.points[0].goodput_rate.has_value());
  const double rate = *run.points[0].goodput_rate;
  EXPECT_NEAR(rate, 10, 0.1) << "100 of 500 in 10 s";
  const auto aiperf = ToAiperf({run});
  ASSERT_TRUE(aiperf.ok()) << aiperf.status();
  const Json json = ParsedFile(*aiperf, 0);
  EXPECT_EQ(json.at("goodput"),
            Json({{"unit", "requests/sec"}, {"avg", rate}}));
  EXPECT_DOUBLE_EQ(json.at("good_request_count").at("avg").get<double>(),
                   rate * 10);

  const auto both = ToInferencePerf({run, RunOf({Closed()})});
  ASSERT_TRUE(both.ok()) << both.status();
  const Json goodput =
      ParsedFile(*both, 0).at("successes").at("goodput_metrics");
  EXPECT_DOUBLE_EQ(goodput.at("request_goodput").get<double>(), rate);
  EXPECT_DOUBLE_EQ(goodput.at("goodput_percentage").get<double>(),
                   rate * 10 / 500 * 100);
  EXPECT_EQ(goodput.at("total_requests"), 500);
  EXPECT_FALSE(goodput.contains("token_goodput"));
  EXPECT_FALSE(ParsedFile(*both, 2).at("successes").contains("goodput_metrics"))
      << "one stage has no bound";
}

TEST(OtherToolsJsonTest, VoidPointsAndOfflineQueriesAreLeftOut) {
  PointResult voided = Closed();
  voided.void_reason = "the client was late";
  PointResult offline = Closed();
  offline.loop = "offline";
  const auto runs = {RunOf({voided, Closed(), offline})};
  EXPECT_THAT(Names(*ToAiperf(runs)),
              ElementsAre("run_0001/profile_export_aiperf.json"));
  EXPECT_EQ(ParsedFile(*ToAiperf(runs), 0).at("run_info").at("variation_index"),
            1)
      << "its place in the run";
  EXPECT_THAT(Names(*ToInferencePerf(runs)),
              ElementsAre("stage_0_lifecycle_metrics.json",
                          "summary_lifecycle_metrics.json"));
  EXPECT_THAT(*ToAiperf({RunOf({voided})}), IsEmpty());
  EXPECT_THAT(*ToInferencePerf({RunOf({voided})}), IsEmpty());
}

TEST(OtherToolsJsonTest, PointWithoutSuccessHasNoLatency) {
  PointResult failed = Closed();
  failed.ok = 0;
  failed.achieved_rate = 0;
  failed.interrupted = true;
  failed.histograms.latency = {};
  failed.histograms.latency_from_send = {};
  const auto runs = {RunOf({failed})};
  const Json aiperf = ParsedFile(*ToAiperf(runs), 0);
  EXPECT_FALSE(aiperf.contains("request_latency"));
  EXPECT_EQ(aiperf.at("request_count").at("avg"), 0);
  EXPECT_EQ(aiperf.at("was_cancelled"), true);
  EXPECT_EQ(ParsedFile(*ToInferencePerf(runs), 0)
                .at("successes")
                .at("latency")
                .at("request_latency"),
            Json());
}

TEST(OtherToolsJsonTest, ResultWithoutHistogramsIsRefused) {
  PointResult old = Closed();
  old.histograms = {};
  const char* const expected =
      "'on', closed, 4 outstanding: expected a histogram of 6 latencies, found "
      "one of 0, as in files of earlier versions; AIPerf's and "
      "inference-perf's files need it: measure again, or leave out --aiperf "
      "and --inference-perf";
  EXPECT_EQ(ToAiperf({RunOf({old})}).status(),
            absl::InvalidArgumentError(expected));
  EXPECT_EQ(ToInferencePerf({RunOf({old})}).status(),
            absl::InvalidArgumentError(expected));
}

TEST(OtherToolsJsonTest, FolderThatCannotBeMadeIsTold) {
  ReportFiles files;
  files.aiperf = "/proc/a";
  const absl::Status status = WriteReportFiles(files, {RunOf({Closed()})});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              StartsWith("cannot make the folder /proc/a/run_0001: "));
}

// What `ferry-bench report` reads gives the same files.
TEST(OtherToolsJsonTest, ResultThatWasWrittenAndReadGivesTheSame) {
  const std::vector<RunResult> runs = {RunOf({Closed(), Open()})};
  const auto read = ParseJson(ToJson(runs), "a.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToAiperf(*read)->at(1).text, ToAiperf(runs)->at(1).text);
  EXPECT_EQ(ToInferencePerf(*read)->at(2).text,
            ToInferencePerf(runs)->at(2).text);
}

}  // namespace
}  // namespace ferry::bench
