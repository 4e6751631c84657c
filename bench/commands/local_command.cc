// Implements `ferry-bench local`: puts loads on a target in this process,
// without a server.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/commands/batcher_flags.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/measured_loads.h"
#include "bench/commands/run_options.h"
#include "bench/commands/shared_load.h"
#include "bench/local/local_targets.h"
#include "bench/search/sweep.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

struct LocalFlags {
  RunOptions run;
  std::string target = "null";
  BatcherFlags batcher;
  SchedulerOptions scheduler;
  int32_t instances = 1;
};

struct LocalTarget {
  std::unique_ptr<Target> target;
  std::unique_ptr<BatcherCounters> counters;  // null: it counts nothing
};

absl::StatusOr<LocalTarget> MakeTarget(const LocalFlags& flags) {
  if (flags.target == "null") {
    return LocalTarget{std::make_unique<NullTarget>(), nullptr};
  }
  SimulatedTargetOptions options;
  options.scheduler = flags.scheduler;
  ReadBatcherFlags(flags.batcher, options.scheduler);
  options.device.alpha = Milliseconds(flags.batcher.alpha_ms);
  options.device.beta = Milliseconds(flags.batcher.beta_ms);
  options.instances = flags.instances;
  options.rows = flags.run.requests.rows;
  options.timeout = Milliseconds(flags.run.timeout_ms);
  auto target = SimulatedTarget::Create(options);
  if (!target.ok()) {
    return target.status();
  }
  auto counters = std::make_unique<BatcherCounters>((*target)->scheduler());
  return LocalTarget{*std::move(target), std::move(counters)};
}

RunResult DescribeRun(const LocalFlags& flags,
                      const std::string& command_line) {
  RunResult run = DescribeClient(flags.run, command_line);
  run.server_name = "in this process";
  run.model = flags.target;
  run.platform = flags.target == "null" ? "none" : "ferry_sim";
  run.max_batch_size = flags.scheduler.max_batch_size;
  run.is_simulated = true;
  run.rows_per_request = flags.run.requests.rows;
  return run;
}

absl::Status CheckProcesses(const LocalFlags& flags) {
  return flags.run.processes == 1 || flags.target == "null"
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "--processes: expected --target null beside more than one, "
                   "as each process would have a target of its own; got ",
                   flags.target));
}

int Run(LocalFlags flags, const Invocation& invocation) {
  if (flags.run.label.empty()) {
    flags.run.label = flags.target;
  }
  auto completed = CompleteRunOptions(flags.run);
  if (!completed.ok()) {
    return Fail(completed.status());
  }
  flags.run = *std::move(completed);
  if (const auto status = CheckProcesses(flags); !status.ok()) {
    return Fail(status);
  }
  if (flags.run.offline.samples > 0) {
    flags.run.sweep.offline = PlanOffline(
        flags.run.offline, flags.scheduler.max_batch_size, flags.instances);
    flags.run.requests.rows = flags.run.sweep.offline->rows;
  }
  const auto target = MakeTarget(flags);
  if (!target.ok()) {
    return Fail(target.status());
  }
  if (flags.run.as_process >= 0) {
    return ShareLoads(flags.run, [&]() -> absl::StatusOr<Target*> {
      return target->target.get();
    });
  }
  PrintRounds(flags.run);
  RunResult run = DescribeRun(flags, invocation.command_line);
  auto loads = MakeLoads(flags.run, target->target.get(), invocation);
  if (!loads.ok()) {
    return Fail(loads.status());
  }
  Sweep sweep(flags.run.sweep, *std::move(loads), target->counters.get(),
              flags.instances);
  return ReportLoads(flags.run, sweep, std::move(run));
}

void AddTargetFlags(CLI::App& command, LocalFlags& flags) {
  command.option_defaults()->group("Batcher and device");
  command
      .add_option("--target", flags.target,
                  "null: each call ends at once; batcher: Ferry's batcher and "
                  "a simulated device")
      ->check(OneOf({"null", "batcher"}))
      ->capture_default_str();
  AddBatcherFlags(command, flags.batcher, flags.scheduler);
  command.add_option("--instances", flags.instances, "of the device")
      ->check(IntegerFrom(1, 64))
      ->capture_default_str();
  AddRowsFlag(command, flags.run);
  AddTimeoutFlag(command, flags.run);
}

}  // namespace

void AddLocalCommand(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<LocalFlags>();
  CLI::App* const command = app.add_subcommand(
      "local",
      "put loads on a target in this process: nothing, or Ferry's batcher");
  AddTargetFlags(*command, *flags);
  AddWindowFlags(*command, flags->run);
  AddLoadFlags(*command, flags->run);
  AddProcessFlags(*command, flags->run);
  AddReportFlags(*command, flags->run);
  AddGoodputFlag(*command, flags->run);
  command->callback([command, flags, &invocation] {
    flags->run.flags = EffectiveFlags(*command);
    invocation.chosen = [flags, &invocation] {
      return Run(*flags, invocation);
    };
  });
}

}  // namespace ferry::bench
