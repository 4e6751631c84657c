// Implements `ferry-bench run`: measures servers and reports.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/measurement.h"
#include "bench/commands/run_options.h"
#include "bench/commands/runtime_flags.h"
#include "bench/commands/shared_load.h"
#include "bench/compare/comparison_text.h"
#include "bench/load/stamp_log.h"
#include "bench/report/knee.h"
#include "bench/search/runtime_options_client.h"
#include "flags/terminal.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

struct RunFlags {
  RunOptions run;
  int32_t repeat = 1;
  std::string against;        // host:port; empty: one server
  std::string against_label;  // empty: the address
  std::string against_metrics;
  std::string against_nvml;
  RuntimeChoices runtime_options{
      .policies = {}, .max_batch_sizes = {}, .max_waits_ms = {}};

  bool turns_runtime_options() const {
    return !runtime_options.policies.empty() ||
           !runtime_options.max_batch_sizes.empty() ||
           !runtime_options.max_waits_ms.empty();
  }
};

std::vector<RunOptions> OptionsOfServers(const RunFlags& flags,
                                         const RunOptions& completed) {
  std::vector<RunOptions> servers = {completed};
  if (!flags.against.empty()) {
    if (flags.run.label.empty()) {
      servers[0].label = completed.address;
    }
    RunOptions& other = servers.emplace_back(completed);
    other.address = other.target.address = flags.against;
    other.metrics_address = flags.against_metrics;
    other.nvml = flags.against_nvml;
    other.label =
        flags.against_label.empty() ? flags.against : flags.against_label;
  }
  return servers;
}

// Runs, with the runtime options turned as the flags say and turned back after
// it.
absl::Status Measure(const RunFlags& flags, const RunOptions& options,
                     Measurement& measurement) {
  if (!flags.turns_runtime_options()) {
    return measurement.Run(flags.repeat, {});
  }
  const RuntimeOptionsClient runtime_options(options.address, options.model,
                                             options.target.connection);
  const auto own = runtime_options.Get();
  if (!own.ok()) {
    return own.status();
  }
  std::fprintf(stderr, "as it is: %s, %g ms\n",
               PrintableText(Describe(*own)).c_str(), own->max_wait_ms);
  absl::Status status = measurement.Run(
      flags.repeat, GridOf(CompletedBy(flags.runtime_options, *own)));
  const absl::Status restored = Restore(runtime_options, *own);
  status.Update(restored);
  if (restored.ok()) {
    std::fprintf(stderr, "the server is as it was: %s\n",
                 PrintableText(Describe(*own)).c_str());
  }
  return status;
}

int ReportAll(const RunOptions& options, const Measurement& measurement,
              bool compares) {
  int code = Report(options, measurement.runs());
  for (const RunResult& run : measurement.runs()) {
    if (const auto knee = FindKnee(run); knee.has_value()) {
      std::printf("%s: %s\n", PrintableText(run.label).c_str(),
                  Describe(*knee).c_str());
    }
  }
  if (compares) {
    std::printf("\n%s", ToText(CompareRuns(measurement.RunsOf(0),
                                           measurement.RunsOf(1)),
                               TerminalColumns())
                            .c_str());
  }
  for (const RunResult& run : measurement.runs()) {
    const int judged = Judge(options, run);
    code = code != 0 ? code : judged;
  }
  const int interrupted = TellInterruption(measurement.interruption());
  return code != 0 ? code : interrupted;
}

int Run(const RunFlags& flags, const Invocation& invocation) {
  const auto completed = CompleteRunOptions(flags.run);
  if (!completed.ok()) {
    return Fail(completed.status());
  }
  RunOptions options = *completed;
  if (options.as_process >= 0) {
    return ShareLoads(options);  // one of those that --processes starts
  }
  PrintRounds(options);
  std::unique_ptr<StampLog> log;
  if (!options.log_path.empty()) {
    auto created = StampLog::Create(options.log_path);
    if (!created.ok()) {
      return Fail(created.status());
    }
    log = *std::move(created);
    options.sweep.on_load = [&log](const LoadResult& load) { log->Add(load); };
  }
  Measurement measurement(OptionsOfServers(flags, options), invocation);
  if (const auto status = measurement.Connect(); !status.ok()) {
    return Fail(status);
  }
  absl::Status status = Measure(flags, options, measurement);
  if (!status.ok() && measurement.runs().empty()) {
    return Fail(status);
  }
  const int code = ReportAll(options, measurement, !flags.against.empty());
  if (log != nullptr) {
    status.Update(log->Close());
    std::printf("log: %s\n", options.log_path.c_str());
  }
  return status.ok() ? code : Fail(status);
}

void AddTurnFlags(CLI::App& command, RunFlags& flags) {
  command.option_defaults()->group("Several runs");
  command
      .add_option("--repeat", flags.repeat,
                  "how often to put all loads, each time with other arrivals: "
                  "repeats are what `compare` is sure by")
      ->check(IntegerFrom(1, 1000))
      ->capture_default_str();
  CLI::Option* const against = command.add_option(
      "--against", flags.against,
      "a second server, host:port, of the same model: both are measured in "
      "turn, and compared in the end");
  command
      .add_option("--against-label", flags.against_label,
                  "name of its runs; default: its address")
      ->needs(against);
  command
      .add_option("--against-metrics", flags.against_metrics,
                  "its --metrics: host:port of its Prometheus metrics")
      ->needs(against);
  command
      .add_option("--against-nvml", flags.against_nvml,
                  "its --nvml: its device in this machine")
      ->type_name("DEVICE")
      ->needs(against);
  AddRuntimeFlags(command,
                  {"the server's; needs ferry-server --admin-rpc",
                   "the server's", "the server's"},
                  flags.runtime_options);
  for (const char* other :
       {"--policies", "--max-batch-sizes", "--max-waits-ms", "--processes"}) {
    against->excludes(other);
  }
}

}  // namespace

void AddRunCommand(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* const command = app.add_subcommand(
      "run",
      "put loads on one server, or two in turn, or one with each of several "
      "settings of its runtime options, and report what it did");
  AddRunFlags(*command, flags->run);
  AddTurnFlags(*command, *flags);
  command->callback([command, flags, &invocation] {
    flags->run.flags = EffectiveFlags(*command);
    invocation.chosen = [flags, &invocation] {
      return Run(*flags, invocation);
    };
  });
}

}  // namespace ferry::bench
