// Tests the answers about running servers, in text and in findings.
#include "deploy/ctl/server_answers.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry::ctl {
namespace {

ServerLook Busy() {
  return {.address = "127.0.0.1:8002",
          .server_version = "0.1.0",
          .state = "ready",
          .is_ready = true,
          .start_s = 1.7e9,
          .versions = {{.name = "mlp",
                        .version = "3",
                        .state = "READY",
                        .load = 0.754,
                        .queued_requests = 12,
                        .requests_per_second = 1234.56,
                        .refused_per_second = 2,
                        .p50_ms = 3.14,
                        .p99_ms = 9.96,
                        .rows_per_batch = 7.5},
                       {.name = "old",
                        .version = "1",
                        .state = "UNAVAILABLE",
                        .reason = "unloaded"},
                       {.name = "wrong",
                        .state = "UNAVAILABLE",
                        .reason = "expected a file"}},
          .refusals = {{"expired", 3}, {"queue_requests", 15}},
          .device = DeviceLook{.name = "NVIDIA H200",
                               .profile = "1g.18gb",
                               .busy_ratio = 0.456,
                               .sm_ratio = 0.3,
                               .memory_bytes = 3.0 * (1 << 30),
                               .memory_total_bytes = 16.0 * (1 << 30),
                               .power_watts = 120.4,
                               .temperature_celsius = 55}};
}

ServerLook Silent() {
  return {.address = "b:8002",
          .failure = absl::UnavailableError("b:8002: got none")};
}

TEST(StatusAnswerTest, OneServerIsOnePage) {
  EXPECT_EQ(
      AnswerText(StatusAnswer({Busy()})),
      "127.0.0.1:8002 is ready.\n"
      "\n"
      "127.0.0.1:8002: ferry-server 0.1.0, ready, up since "
      "2023-11-14T22:13:20Z; refused since then: expired 3, queue_requests 15\n"
      "device of 127.0.0.1:8002: NVIDIA H200 1g.18gb, busy 46 %, "
      "multiprocessors 30 %, memory 3.0 of 16.0 GiB, 120 W, 55 degrees "
      "Celsius\n"
      "\n"
      "model  version  state        load  queue  req/s   p50 ms  p99 ms  batch "
      " "
      "refused/s\n"
      "mlp    3        READY        0.75  12     1234.6  3.1     10.0    7.5   "
      " "
      "      2.0\n"
      "old    1        UNAVAILABLE  -     -      -       -       -       -     "
      " "
      "        -\n"
      "wrong  -        UNAVAILABLE  -     -      -       -       -       -     "
      " "
      "        -\n"
      "warning: 'wrong' at 127.0.0.1:8002, UNAVAILABLE: expected a file\n");
}

TEST(StatusAnswerTest, SeveralServersHaveRowsOfTheirsAndThoseThatAreSilent) {
  const Answer answer = StatusAnswer({Busy(), Silent()});
  EXPECT_EQ(answer.sentence, "1 of 2 servers are ready.");
  EXPECT_EQ(answer.table.headings.front(), "server");
  ASSERT_EQ(answer.table.rows.size(), 3U);
  EXPECT_EQ(answer.table.rows[0].size(), answer.table.headings.size());
  EXPECT_EQ(answer.table.rows[0].front(), "127.0.0.1:8002");
  ASSERT_EQ(answer.findings.size(), 2U);
  EXPECT_EQ(answer.findings[1].name, "unreachable");
  EXPECT_EQ(answer.findings[1].text, "b:8002: got none");
  EXPECT_EQ(answer.gravest(), Severity::kCritical);
}

TEST(StatusAnswerTest, ServerThatRefusesHidesNoOther) {
  const absl::Status refusal = absl::PermissionDeniedError("c:1: code 401");
  for (const Answer& answer :
       {StatusAnswer({Busy(), {.address = "c:1", .failure = refusal}}),
        HealthAnswer("ready", {{"127.0.0.1:8002", true},
                               {.address = "c:1", .failure = refusal}})}) {
    EXPECT_EQ(answer.sentence, "1 of 2 servers are ready.");
    EXPECT_EQ(answer.inputs.back(),
              (std::pair<std::string, std::string>("c:1", "no page")));
    EXPECT_EQ(answer.findings.back().severity, Severity::kCritical);
    EXPECT_EQ(answer.findings.back().name, "not_readable");
    EXPECT_EQ(answer.findings.back().text, "c:1: code 401");
  }
}

TEST(StatusAnswerTest, ServerThatIsNotReadySaysWhy) {
  ServerLook look = {.address = "a:1", .server_version = "0.1.0"};
  for (const auto& [state, why] : std::map<std::string, std::string>{
           {"starting", "its state is 'starting'"},
           {"incomplete", "it serves, but lacks a model of its start"},
           {"draining", "it was told to stop, and answers what it has"},
           {"lost",
            "a device is lost, something hangs or memory runs out, and it "
            "ends"},
           {"ready",
            "a port has no descriptors left, all models are at a batch for too "
            "long, or a thread does not turn: its log says which"}}) {
    look.state = state;
    const Answer answer = StatusAnswer({look});
    EXPECT_EQ(answer.sentence, "a:1 is not ready.");
    ASSERT_EQ(answer.findings.size(), 1U);
    EXPECT_EQ(answer.findings[0].severity, Severity::kCritical);
    EXPECT_EQ(answer.findings[0].name, "not_ready");
    EXPECT_EQ(answer.findings[0].text, "a:1 is not ready: " + why);
  }
}

TEST(HealthAnswerTest, ServerThatIsNotIsACriticalFinding) {
  EXPECT_EQ(AnswerText(HealthAnswer("ready", {{"a:1", true}})),
            "a:1 is ready.\n\na:1: ready\n");
  EXPECT_EQ(AnswerText(HealthAnswer("ready", {{"a:1", false, "missing=m"}})),
            "a:1 is not ready.\n\na:1: not ready\n"
            "critical: a:1 is not ready: missing=m\n");
  const Answer several =
      HealthAnswer("live", {{"a:1", true}, {"b:1", false}, {"c:1", true}});
  EXPECT_EQ(several.sentence, "2 of 3 servers are live.");
  ASSERT_EQ(several.findings.size(), 1U);
  EXPECT_EQ(several.findings[0].name, "not_live");
  EXPECT_EQ(several.findings[0].text, "b:1 is not live");
}

v1::RuntimeOptions Options() {
  v1::RuntimeOptions options;
  options.set_max_batch_size(64);
  options.set_policy("eager");
  options.set_max_wait_microseconds(1500);
  options.set_queue_requests(4096);
  options.set_queue_rows(100);
  options.set_queue_bytes(1 << 20);
  return options;
}

TEST(RuntimeOptionsAnswerTest, ThoseInForceAreShown) {
  EXPECT_EQ(
      AnswerText(RuntimeOptionsAnswer("a:1", "'m'", Options(), std::nullopt)),
      "The runtime options of 'm'.\n"
      "\n"
      "server: a:1\n"
      "\n"
      "option          in force\n"
      "max-batch-size  64\n"
      "policy          eager\n"
      "max-wait-ms     1.5\n"
      "queue-requests  4096\n"
      "queue-rows      100\n"
      "queue-bytes     1048576\n");
}

TEST(RuntimeOptionsAnswerTest, BothAreShownWhereTheyWereSet) {
  v1::RuntimeOptions after = Options();
  after.set_policy("window");
  const Answer one = RuntimeOptionsAnswer("a:1", "'m'", Options(), after);
  EXPECT_EQ(one.sentence, "1 runtime option of 'm' has changed.");
  EXPECT_EQ(one.table.rows[1],
            (std::vector<std::string>{"policy", "eager", "window"}));
  EXPECT_EQ(one.table.rows[0],
            (std::vector<std::string>{"max-batch-size", "64", "64"}));
  after.set_max_batch_size(2);
  EXPECT_EQ(RuntimeOptionsAnswer("a:1", "'m'", Options(), after).sentence,
            "2 runtime options of 'm' have changed.");
  EXPECT_EQ(RuntimeOptionsAnswer("a:1", "'m'", Options(), Options()).sentence,
            "No runtime option of 'm' has changed.");
}

TEST(DrainAnswerTest, EachEndIsSaid) {
  EXPECT_EQ(AnswerText(DrainAnswer("a:1", ServerEnd::kGone, 60)),
            "a:1 has drained, and is gone.\n\n");
  EXPECT_EQ(AnswerText(DrainAnswer("a:1", ServerEnd::kReplaced, 60)),
            "a:1 has drained, and another server answers there now.\n\n");
  const Answer late = DrainAnswer("a:1", ServerEnd::kStillThere, 1.5);
  EXPECT_EQ(
      AnswerText(late),
      "a:1 was told to drain, and is still there.\n\n"
      "critical: expected a:1 to be gone within 1.5 s, found it there; it "
      "goes on to drain, for its --drain-delay-secs and "
      "--exit-timeout-secs at most: wait longer with --timeout-secs\n");
  EXPECT_EQ(late.gravest(), Severity::kCritical);
}

}  // namespace
}  // namespace ferry::ctl
