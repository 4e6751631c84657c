// Tests the text that Prometheus reads.
#include "server/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/server/borrowed_models.h"
#include "tests/server/scripted_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MetricsTest : public ::testing::Test {
 protected:
  std::string Text() {
    return ToPrometheusText(
        ServerMetrics(table_, readiness_, unsent_, buckets_).Collect());
  }

  ScriptedModel model_{"m", 3};
  BorrowedTable table_{&model_.model()};
  Readiness readiness_;
  UnsentReplies unsent_{1 << 20};
  Buckets buckets_ = Buckets::kCommon;
};

TEST_F(MetricsTest, FamiliesAreNamedOnceAndHaveHelp) {
  std::istringstream lines(Text());
  std::set<std::string> types;
  int helps = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) == 0) {
      EXPECT_TRUE(types.insert(line).second) << line;
    }
    helps += line.rfind("# HELP ", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(static_cast<int>(types.size()), helps);
  EXPECT_GT(helps, 15);
}

TEST_F(MetricsTest, NamesOfTheDesignAreThere) {
  const std::string text = Text();
  const std::string labels = "{model=\"m\",version=\"3\"";
  for (const char* name :
       {"ferry_queue_wait_seconds_bucket", "ferry_stage_seconds_sum",
        "ferry_compute_seconds_count", "ferry_deliver_seconds_count",
        "ferry_request_seconds_count", "ferry_batch_rows_bucket",
        "ferry_rows_total", "ferry_queue_requests", "ferry_queue_bytes",
        "ferry_joined_output_bytes", "ferry_simulated",
        "ferry_max_batch_size_rows", "ferry_padding_rows_total",
        "ferry_input_elements_total", "ferry_padding_elements_total",
        "ferry_batch_reruns_total", "ferry_arrived_rows_total",
        "ferry_received_bytes_total", "ferry_sent_bytes_total"}) {
    EXPECT_THAT(text, HasSubstr(name + labels)) << name;
  }
  EXPECT_THAT(text, HasSubstr("ferry_compute_busy_seconds_total" + labels +
                              ",model_instance=\"0\"} 0"));
  EXPECT_THAT(text, HasSubstr("ferry_batches_closed_total" + labels +
                              ",reason=\"full\"} 0"));
  EXPECT_THAT(text, HasSubstr("ferry_refused_total" + labels +
                              ",reason=\"queue_requests\"} 0"));
  EXPECT_THAT(text, HasSubstr("ferry_build_info{version=\""));
  for (const char* name : {"process_resident_memory_bytes", "process_open_fds",
                           "process_max_fds", "process_start_time_seconds"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name + " ")) << name;
  }
  EXPECT_THAT(text, HasSubstr("ferry_log_lines_dropped_total 0"));
}

TEST_F(MetricsTest, LoadAndCapacityAreToldOnceTheyAreKnown) {
  ModelEntry& entry = *table_.UseAll().front();
  EXPECT_THAT(Text(), Not(HasSubstr("ferry_load")));
  EXPECT_THAT(Text(), Not(HasSubstr("ferry_capacity")));
  entry.load.Store({.capacity = 2000, .last_minute = 0.25, .last_5s = 0.75});
  const std::string text = Text();
  const std::string labels = "{model=\"m\",version=\"3\"} ";
  for (const char* sample : {"ferry_capacity_rows_per_second",
                             "ferry_load_ratio", "ferry_load_5s_ratio"}) {
    EXPECT_THAT(text, HasSubstr("# TYPE " + std::string(sample) + " gauge\n"));
  }
  EXPECT_THAT(
      text, HasSubstr("\nferry_capacity_rows_per_second" + labels + "2000\n"));
  EXPECT_THAT(text, HasSubstr("\nferry_load_ratio" + labels + "0.25\n"));
  EXPECT_THAT(text, HasSubstr("\nferry_load_5s_ratio" + labels + "0.75\n"));
}

TEST_F(MetricsTest, ServedRequestIsCounted) {
  TestRequest request({.rows = 2});
  ASSERT_TRUE(model_.scheduler().Submit(request.request()).ok());
  model_.clock().Advance(Milliseconds(2));
  model_.Step();
  model_.instances().Stage(0);
  model_.clock().Advance(Milliseconds(500));
  model_.instances().CompleteAll();
  model_.Step();
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("ferry_requests_total{model=\"m\",version=\"3\","
                              "code=\"OK\"} 1"));
  EXPECT_THAT(text, HasSubstr("ferry_rows_total{model=\"m\",version=\"3\"} 2"));
  EXPECT_THAT(text, HasSubstr("ferry_compute_busy_seconds_total{model=\"m\","
                              "version=\"3\",model_instance=\"0\"} 0.5"));
  EXPECT_THAT(text, HasSubstr("ferry_queue_wait_seconds_bucket{model=\"m\","
                              "version=\"3\",le=\"0.001\"} 0"));
  EXPECT_THAT(text, HasSubstr("ferry_queue_wait_seconds_bucket{model=\"m\","
                              "version=\"3\",le=\"0.0025\"} 1"));
  EXPECT_THAT(text, HasSubstr("ferry_batch_rows_bucket{model=\"m\",version="
                              "\"3\",le=\"1\"} 0"));
  EXPECT_THAT(text, HasSubstr("ferry_batch_rows_bucket{model=\"m\",version="
                              "\"3\",le=\"2\"} 1"));
  EXPECT_THAT(text, HasSubstr("ferry_batch_rows_sum{model=\"m\",version="
                              "\"3\"} 2"));
  // 2 ms lie in the bucket from 30 to 31 times 2^16 ns; others are left out.
  buckets_ = Buckets::kCounted;
  EXPECT_THAT(Text(), HasSubstr("ferry_queue_wait_seconds_bucket{model=\"m\","
                                "version=\"3\",le=\"0.002031616\"} 1\n"
                                "ferry_queue_wait_seconds_bucket{model=\"m\","
                                "version=\"3\",le=\"+Inf\"} 1\n"));
  EXPECT_THAT(Text(), Not(HasSubstr("le=\"0.001\"")));
  model_.instances().CompleteAll();
}

TEST_F(MetricsTest, PaddingIsCountedInRowsAndInElements) {
  SchedulerOptions options;
  options.max_batch_size = 8;
  options.buckets = {4, 8};
  ScriptedModel model("padded", 1, options);
  table_.Publish(SetOf({&model.model()}));
  TestRequest request({.rows = 3, .width = 5, .padded_width = 8});
  ASSERT_TRUE(model.scheduler().Submit(request.request()).ok());
  model.Step();
  model.instances().CompleteAll();
  model.Step();
  const std::string text = Text();
  const std::string of_model = "{model=\"padded\",version=\"1\"} ";
  EXPECT_THAT(text, HasSubstr("ferry_padding_rows_total" + of_model + "1\n"));
  EXPECT_THAT(text,
              HasSubstr("ferry_input_elements_total" + of_model + "15\n"));
  EXPECT_THAT(text,
              HasSubstr("ferry_padding_elements_total" + of_model + "9\n"));
  table_.Publish({});
}

TEST_F(MetricsTest, UsualFailuresAreThereBeforeTheyCome) {
  for (const char* code : {"CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL",
                           "RESOURCE_EXHAUSTED", "UNAVAILABLE"}) {
    EXPECT_THAT(Text(), HasSubstr(std::string("code=\"") + code + "\"} 0\n"));
  }
  EXPECT_THAT(Text(), Not(HasSubstr("code=\"DATA_LOSS\"")));
  EXPECT_THAT(Text(), Not(HasSubstr("code=\"OUT_OF_RANGE\"")));
}

TEST_F(MetricsTest, FailuresAppearByCode) {
  EXPECT_THAT(Text(), HasSubstr("code=\"CANCELLED\"} 0"));
  TestRequest request;
  ASSERT_TRUE(model_.scheduler().Submit(request.request()).ok());
  model_.scheduler().Cancel(request.request());
  model_.Step();
  EXPECT_THAT(Text(), HasSubstr("code=\"CANCELLED\"} 1"));
}

TEST_F(MetricsTest, ReadinessIsShown) {
  EXPECT_THAT(Text(), HasSubstr("ferry_ready 0"));
  readiness_.MoveTo(ServerState::kReady);
  EXPECT_THAT(Text(), HasSubstr("ferry_ready 1"));
  readiness_.MoveTo(ServerState::kDraining);
  EXPECT_THAT(Text(), HasSubstr("ferry_draining 1"));
  readiness_.MoveTo(ServerState::kReady);  // never back
  EXPECT_FALSE(readiness_.is_ready());
  EXPECT_TRUE(readiness_.is_live());
  readiness_.MoveTo(ServerState::kLost);
  EXPECT_FALSE(readiness_.is_live());
}

TEST_F(MetricsTest, ModelOfAnUnknownRequestIsNoLabel) {
  table_.CountUnknownModel();
  EXPECT_THAT(Text(),
              HasSubstr("ferry_refused_total{model=\"_unknown\",version=\"\","
                        "reason=\"unknown_model\"} 1"));
}

}  // namespace
}  // namespace ferry
