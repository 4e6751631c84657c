// `ferry-bench run`: measures one server and reports.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <utility>

#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/measured_server.h"
#include "bench/commands/progress_line.h"
#include "bench/commands/run_options.h"
#include "bench/commands/shared_load.h"
#include "bench/commands/signal_watcher.h"
#include "bench/load/stamp_log.h"
#include "bench/search/sweep.h"

namespace ferry::bench {
namespace {

// One of the processes that --processes starts.
int ShareLoadsOf(const RunOptions& options) {
  std::unique_ptr<MeasuredServer> server;
  return ShareLoads(options, [&]() -> absl::StatusOr<Target*> {
    auto connected = MeasuredServer::Connect(options);
    if (!connected.ok()) {
      return connected.status();
    }
    server = *std::move(connected);
    return &server->target();
  });
}

int Run(const RunOptions& given, const Invocation& invocation) {
  const auto completed = CompleteRunOptions(given);
  if (!completed.ok()) {
    return Fail(completed.status());
  }
  RunOptions options = *completed;
  if (options.as_process >= 0) {
    return ShareLoadsOf(options);
  }
  std::unique_ptr<StampLog> log;
  if (!options.log_path.empty()) {
    auto created = StampLog::Create(options.log_path);
    if (!created.ok()) {
      return Fail(created.status());
    }
    log = *std::move(created);
    options.sweep.on_load = [&log](const LoadResult& load) { log->Add(load); };
  }
  const auto connected = MeasuredServer::Connect(options);
  if (!connected.ok()) {
    return Fail(connected.status());
  }
  MeasuredServer& server = **connected;
  options.sweep.offline = server.offline();
  RunResult run = server.Describe(invocation.command_line);
  auto loads = MakeLoads(options, options.sends() ? &server.target() : nullptr,
                         invocation);
  if (!loads.ok()) {
    return Fail(loads.status());
  }
  Sweep sweep(options.sweep, *std::move(loads), &server.probe(),
              server.lanes());
  std::fprintf(stderr, "%s: model %s at %s\n", options.label.c_str(),
               options.model.c_str(), options.address.c_str());
  absl::Status swept;
  {
    SignalWatcher watcher([&sweep] { sweep.Stop(); });
    ProgressLine line([&sweep] { return sweep.progress(); });
    swept = sweep.Run(run, [](const PointResult& point) { PrintPoint(point); });
  }
  if (log != nullptr) {
    if (const auto status = log->Close(); !status.ok()) {
      return Fail(status);
    }
    std::printf("log: %s\n", options.log_path.c_str());
  }
  if (!swept.ok()) {
    return FailAfter(options, run, swept);
  }
  const int reported = Report(options, {run});
  const int judged = Judge(options, run);
  return reported != 0 ? reported : judged;
}

}  // namespace

void AddRunCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* const command = app.add_subcommand(
      "run", "put loads on one server and report what it did");
  AddRunFlags(*command, *options);
  command->callback([command, options, &invocation] {
    options->flags = EffectiveFlags(*command);
    invocation.chosen = [options, &invocation] {
      return Run(*options, invocation);
    };
  });
}

}  // namespace ferry::bench
