// ferry-bench puts loads on an inference server and reports honestly.
//
// Errors: exit code 1 with one line on stderr: wrong flags, no server, no
// request that succeeded, or no point that meets the SLO of a plan; 2 where a
// condition of --fail-if holds; 130 where a signal ended it before its time.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/event_count.h"
#include "bench/commands/bench_identity.h"
#include "bench/commands/commands.h"
#include "bench/commands/connection_flags.h"
#include "bench/commands/signal_watcher.h"
#include "flags/parse_flags.h"
#include "flags/suggestion.h"

namespace {

// Returns "FILE:3: 'ratez' is no flag of a command": CLI11 gives the key alone,
// as "run.ratez" at the end of its message.
std::string DescribeConfigError(const std::string& message,
                                const std::string& path, const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command :
       app.get_subcommands([](const CLI::App* /*command*/) { return true; })) {
    for (const std::string& name : ferry::FlagNames(*command)) {
      names.push_back(name.substr(2));  // as a key, without the dashes
    }
  }
  const std::string key = message.substr(message.find_last_of(" .") + 1);
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin != std::string::npos &&
        line.compare(begin, key.size(), key) == 0 &&
        line.find_first_of(" \t=", begin) == begin + key.size()) {
      return path + ":" + std::to_string(number) + ": expected a flag of the " +
             "section's command, got '" + key + "'" +
             ferry::Suggestion(key, names);
    }
  }
  return path + ": " + message;
}

constexpr char kEarlier[] = "an earlier version";
constexpr char kAnalyzer[] = "perf_analyzer";
constexpr ferry::ForeignFlag kForeignFlags[] = {
    {"--lanes", kEarlier, "write --instances"},
    {"--slots", kEarlier, "write --pipeline-depth"},
    {"--concurrency-range", kAnalyzer,
     "write --outstanding, with numbers: 1,16,64"},
    {"--request-rate-range", kAnalyzer, "write --rates, with numbers: 100,200"},
    {"--request-distribution", kAnalyzer, "write --arrivals"},
    {"--request-intervals", kAnalyzer, "write --arrivals=trace:FILE"},
    {"--measurement-interval", kAnalyzer, "write --duration-secs"},
    {"--input-data", kAnalyzer, "write --data"},
    {"--latency-threshold", kAnalyzer, "use the command search, with --slo-ms"},
};

}  // namespace

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // in its order with stderr
  ferry::UsePreciseTimers();  // inherited by every thread started later
  ferry::bench::BlockSignals();

  ferry::bench::Invocation invocation;
  invocation.arguments = {argv, argv + argc};
  invocation.command_line =
      ferry::bench::CommandLineOf(invocation.arguments, "ferry-bench");
  CLI::App app{
      "ferry-bench measures inference servers of the Open Inference Protocol"};
  app.set_version_flag("--version",
                       absl::StrCat("ferry-bench ", FERRY_VERSION, " (",
                                    ferry::bench::BenchIdentity(), ")"));
  app.require_subcommand(1);
  app.fallthrough();  // --config after the command, too
  app.set_config("--config", "",
                 "file of flags in TOML, a section for each command: [run]")
      ->type_name("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);
  ferry::bench::AddRunCommand(app, invocation);
  ferry::bench::AddSearchCommand(app, invocation);
  ferry::bench::AddTuneCommand(app, invocation);
  ferry::bench::AddReportCommand(app, invocation);
  ferry::bench::AddMergeCommand(app, invocation);
  ferry::bench::AddCompareCommand(app, invocation);
  ferry::bench::AddPlanCommand(app, invocation);
  ferry::bench::AddLocalCommand(app, invocation);
  ferry::bench::AddSimulateCommand(app, invocation);
  ferry::bench::AddSoakCommand(app, invocation);
  try {
    ferry::ParseFlags(app, argc, argv, kForeignFlags);
  } catch (const CLI::ConfigError& error) {
    std::fprintf(stderr, "ferry-bench: %s\n",
                 DescribeConfigError(
                     error.what(), app.get_config_ptr()->as<std::string>(), app)
                     .c_str());
    return 1;
  } catch (const CLI::ParseError& error) {
    return ferry::EndOfParsing("ferry-bench", app, error);
  }
  return invocation.chosen();
}
