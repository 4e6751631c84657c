// Tests how the flags of `run` become loads: arrivals, scenarios and defaults.
#include "bench/commands/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>

#include "bench/commands/scenario.h"
#include "bench/commands/trace_rounds.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Throws CLI::ParseError where the flags do not parse.
absl::StatusOr<RunOptions> Parse(const std::string& flags) {
  CLI::App app;
  RunOptions options;
  AddRunFlags(app, options);
  app.parse(flags);
  return CompleteRunOptions(options);
}

std::string ErrorOf(const std::string& flags) {
  return std::string(Parse(flags).status().message());
}

std::string TraceOfTwoASecond() {
  const std::string path = ::testing::TempDir() + "run_options_test.txt";
  std::ofstream(path) << "0\n0.5\n1\n";
  return path;
}

TEST(EffectiveFlagsTest, AreThoseThatWereGivenAndTheDefaultsOfTheOthers) {
  CLI::App app;
  RunOptions options;
  AddRunFlags(app, options);
  app.parse("--rates 5,7 --rows 3 --as-process 0");
  const std::map<std::string, std::string> flags = EffectiveFlags(app);
  EXPECT_EQ(flags.at("rates"), "5,7");
  EXPECT_EQ(flags.at("rows"), "3");
  EXPECT_EQ(flags.at("processes"), "1") << "a default";
  EXPECT_EQ(flags.count("loads"), 0U) << "has no value";
  EXPECT_EQ(flags.count("as-process"), 0U) << "hidden";
  EXPECT_EQ(flags.count("help"), 0U);
}

TEST(RunOptionsTest, WhoStartsProcessesDoesNotSend) {
  EXPECT_TRUE(Parse("")->sends());
  EXPECT_FALSE(Parse("--processes 2")->sends());
  EXPECT_TRUE(Parse("--processes 2 --as-process 1")->sends());
  EXPECT_EQ(Parse("--processes 2")->target.number_step, 2U);
}

TEST(RunOptionsTest, DefaultsAreOneAloneAndSharesOfSaturation) {
  const auto options = Parse("");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->sweep.outstanding, ElementsAre(1));
  EXPECT_THAT(options->sweep.loads, ElementsAre(0.2, 0.4, 0.6, 0.8, 0.9));
  EXPECT_EQ(options->sweep.arrivals.name, "poisson");
  const auto bursts = Parse("--arrivals bursts:8");
  ASSERT_TRUE(bursts.ok()) << bursts.status();
  EXPECT_EQ(bursts->sweep.loads, options->sweep.loads);
  EXPECT_EQ(bursts->sweep.arrivals.name, "bursts:8");
}

TEST(RunOptionsTest, TraceAloneIsSentAtItsOwnRateTimesItsScale) {
  const std::string trace = "--arrivals trace:" + TraceOfTwoASecond();
  const auto alone = Parse(trace);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(alone->sweep.rates, ElementsAre(2));
  EXPECT_THAT(alone->sweep.loads, IsEmpty());
  EXPECT_THAT(alone->sweep.outstanding, IsEmpty());
  EXPECT_THAT(Parse(trace + ",3 --outstanding 4")->sweep.rates, ElementsAre(6));
  EXPECT_THAT(Parse(trace + " --rates 9")->sweep.rates, ElementsAre(9));
}

TEST(RunOptionsTest, TraceAloneIsMeasuredForWholeRounds) {
  // Three arrivals at 2/s: a round is 1.5 s; four are 5 s at least.
  const std::string trace = "--arrivals trace:" + TraceOfTwoASecond();
  const auto seconds = [](const absl::StatusOr<RunOptions>& options) {
    return std::chrono::duration<double>(options->sweep.measured).count();
  };
  EXPECT_DOUBLE_EQ(seconds(Parse(trace)), 6);
  EXPECT_DOUBLE_EQ(seconds(Parse(trace + ",0.1")), 15);
  EXPECT_EQ(Parse(trace + ",0.1")->flags.at("duration-secs"), "15");
  EXPECT_DOUBLE_EQ(seconds(Parse(trace + ",0.000001")), 1e6) << "the most";
  EXPECT_DOUBLE_EQ(seconds(Parse(trace + " --duration-secs 3")), 3);
  EXPECT_DOUBLE_EQ(seconds(Parse(trace + " --outstanding 4")), 5);
  EXPECT_DOUBLE_EQ(seconds(Parse(trace + " --rates 9")), 5);
  EXPECT_DOUBLE_EQ(seconds(Parse("--rates 9")), 5);
}

TEST(RunOptionsTest, SaysHowMuchOfATraceIsPlayed) {
  const std::string trace = "--arrivals trace:" + TraceOfTwoASecond();
  const auto lines = [&](const std::string& flags) {
    return DescribeRounds(Parse(trace + flags)->sweep);
  };
  const std::string name = "trace:run_options_test.txt";
  EXPECT_THAT(lines(""), ElementsAre(name + " at 2/s: all its 1.5 s are "
                                            "measured 4 times"));
  EXPECT_THAT(lines(",0.1"),
              ElementsAre(name + ",0.1 at 0.2/s: all its 15 s are measured "
                                 "once"));
  EXPECT_THAT(lines(",0.001 --duration-secs 5"),
              ElementsAre(name + ",0.001 at 0.002/s: only 7 s of its 1500 s "
                                 "are played, from its first line, warm-up "
                                 "included: --duration-secs 1500 measures all "
                                 "of it"));
  EXPECT_THAT(DescribeRounds(Parse("--rates 9")->sweep), IsEmpty());
}

TEST(RunOptionsTest, ArrivalsThatWouldChangeNothingAreRefused) {
  EXPECT_THAT(
      ErrorOf("--arrivals trace:" + TraceOfTwoASecond() + ",3 --loads 0.5"),
      HasSubstr("--arrivals: expected no SCALE beside --rates"));
  EXPECT_THAT(ErrorOf("--arrivals gamma:3 --outstanding 8"),
              HasSubstr("--arrivals: expected --rates or --loads beside "
                        "--outstanding, got 'gamma:3'"));
  EXPECT_THAT(ErrorOf("--arrivals weibull:3"),
              HasSubstr("expected poisson, constant, gamma:CV"));
}

TEST(RunOptionsTest, ConditionOfTheGoodputTakesItsBound) {
  EXPECT_THAT(ErrorOf("--fail-if goodput<1000"),
              HasSubstr("--fail-if: expected --slo-ms, the bound of the "
                        "goodput, beside 'goodput<1000'"));
  EXPECT_TRUE(Parse("--fail-if goodput<1000 --slo-ms 20").ok());
  EXPECT_TRUE(Parse("--fail-if rate<1000").ok());
}

TEST(RunOptionsTest, RealInputsAreTakenInTurnOrDrawn) {
  auto options = Parse("--data inputs.json");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->requests.data, "inputs.json");
  EXPECT_FALSE(options->requests.draws_samples);
  options = Parse("--data inputs.json --data-order random");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->requests.draws_samples);
  EXPECT_THROW(Parse("--data x --data-order sorted"), CLI::ParseError);
  EXPECT_THROW(Parse("--data x --range ids:0:9"), CLI::ParseError);
}

TEST(RunOptionsTest, ScenariosAreLoads) {
  const auto single = Parse("--scenario single-stream");
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_EQ(single->requests.rows, 1);
  EXPECT_THAT(single->sweep.outstanding, ElementsAre(1));
  EXPECT_THAT(single->sweep.loads, IsEmpty());
  const auto multi = Parse("--scenario multi-stream:8");
  EXPECT_EQ(multi->requests.rows, 8);
  EXPECT_THAT(multi->sweep.outstanding, ElementsAre(1));
  const auto server = Parse("--scenario server:250.5");
  EXPECT_EQ(server->requests.rows, 1);
  EXPECT_THAT(server->sweep.outstanding, IsEmpty());
  EXPECT_THAT(server->sweep.rates, ElementsAre(250.5));
  EXPECT_EQ(server->sweep.arrivals.name, "poisson");
}

TEST(RunOptionsTest, ScenarioExcludesTheFlagsThatItSets) {
  for (const char* flag : {"--outstanding 2", "--rates 5", "--loads 0.5",
                           "--arrivals constant", "--rows 2"}) {
    EXPECT_THROW(static_cast<void>(
                     Parse(std::string("--scenario single-stream ") + flag)),
                 CLI::ExcludesError)
        << flag;
  }
}

TEST(RunOptionsTest, OfflineLeavesWhatItCanToTheModel) {
  const auto offline = Parse("--scenario offline:24576");
  ASSERT_TRUE(offline.ok()) << offline.status();
  EXPECT_EQ(offline->offline.samples, 24576U);
  EXPECT_EQ(offline->offline.rows, 0);
  EXPECT_THAT(offline->sweep.outstanding, IsEmpty());
  EXPECT_THAT(offline->sweep.rates, IsEmpty());
  EXPECT_THAT(offline->sweep.loads, IsEmpty());
  const auto whole = Parse("--scenario offline:100,8,3");
  EXPECT_EQ(whole->offline.rows, 8);
  EXPECT_EQ(whole->offline.outstanding, 3);
  EXPECT_THAT(ErrorOf("--scenario offline:10 --class a:rows=2"),
              HasSubstr("expected no --class beside offline"));
}

TEST(ScenarioTest, OfflineIsFullBatchesAndFourAnInstance) {
  const OfflineQuery full = PlanOffline({.samples = 100}, 64, 2);
  EXPECT_EQ(full.rows, 64);
  EXPECT_EQ(full.requests, 2U) << "at least 100 rows";
  EXPECT_EQ(full.outstanding, 8);
  const OfflineQuery small = PlanOffline({.samples = 100, .rows = 10}, 64, 1);
  EXPECT_EQ(small.requests, 10U);
  EXPECT_EQ(small.outstanding, 28) << "four times seven requests";
  const OfflineQuery own =
      PlanOffline({.samples = 1, .rows = 128, .outstanding = 3}, 64, 1);
  EXPECT_EQ(own.rows, 128);
  EXPECT_EQ(own.outstanding, 3);
  const OfflineQuery rows = PlanOffline({.samples = 7, .rows = 4}, 0, 1);
  EXPECT_EQ(rows.rows, 1) << "the model has no batch dimension";
  EXPECT_EQ(rows.requests, 7U);
}

TEST(ScenarioTest, WrongNamesSayWhatWasExpectedAndFound) {
  const std::pair<const char*, const char*> cases[] = {
      {"batch", kScenarioForms},
      {"single-stream:2", kScenarioForms},
      {"multi-stream", "multi-stream:N with N from 1 to 1048576 rows"},
      {"multi-stream:0", "multi-stream:N"},
      {"multi-stream:1.5", "multi-stream:N"},
      {"server", "server:RATE with RATE from 0.001 to 1e9 requests/s"},
      {"server:0", "server:RATE"},
      {"server:nan", "server:RATE"},
      {"offline", "offline:SAMPLES[,ROWS[,OUTSTANDING]] with SAMPLES"},
      {"offline:0", "offline:SAMPLES"},
      {"offline:-1", "offline:SAMPLES"},
      {"offline:2000000000000", "offline:SAMPLES"},
      {"offline:10,0", "offline:SAMPLES"},
      {"offline:10,", "offline:SAMPLES"},
      {"offline:10,1,0", "offline:SAMPLES"},
      {"offline:10,1,1,1", "offline:SAMPLES"}};
  for (const auto& [text, expected] : cases) {
    const auto scenario = ParseScenario(text);
    ASSERT_FALSE(scenario.ok()) << text;
    EXPECT_THAT(scenario.status().message(), HasSubstr(expected));
    EXPECT_THAT(scenario.status().message(),
                HasSubstr("got '" + std::string(text) + "'"));
  }
}

}  // namespace
}  // namespace ferry::bench
