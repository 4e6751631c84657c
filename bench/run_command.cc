// `ferry-bench run`: measures one server and reports.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "bench/commands.h"
#include "bench/grpc_target.h"
#include "bench/machine.h"
#include "bench/model_client.h"
#include "bench/report_html.h"
#include "bench/report_json.h"
#include "bench/report_table.h"
#include "bench/request_pool.h"
#include "bench/run_options.h"
#include "bench/signal_watcher.h"
#include "bench/sweep.h"

namespace ferry::bench {
namespace {

constexpr Duration kFirstReplyLimit = std::chrono::milliseconds(60000);
constexpr Duration kConnectLimit = std::chrono::milliseconds(5000);

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "ferry-bench: %s\n", status.ToString().c_str());
  return 1;
}

RunResult DescribeRun(const RunOptions& options,
                      const ModelDescription& description,
                      const std::string& command_line) {
  const Machine machine = DescribeMachine();
  RunResult run;
  run.label = options.label;
  run.date = DateNow();
  run.command = command_line;
  run.client_version = FERRY_VERSION;
  run.server_name = description.server_name;
  run.server_version = description.server_version;
  run.address = options.address;
  run.model = description.metadata.name();
  run.platform = description.metadata.platform();
  run.max_batch_size = description.config.max_batch_size();
  run.is_simulated = description.is_simulated();
  run.rows_per_request = options.requests.rows;
  run.warm_up_s = options.warm_up_s;
  run.cpu = machine.cpu;
  run.cpu_flags = machine.cpu_flags;
  run.cores = machine.cores;
  run.kernel = machine.kernel;
  return run;
}

absl::Status CheckFirstReply(const ModelClient& client,
                             const grpc::ByteBuffer& request,
                             const ModelDescription& description) {
  const auto reply = client.Infer(request, kFirstReplyLimit);
  if (!reply.ok()) {
    return reply.status();
  }
  if (reply->outputs_size() != description.metadata.outputs_size() ||
      reply->raw_output_contents_size() != reply->outputs_size()) {
    return absl::InternalError(absl::StrCat(
        "first reply: expected ", description.metadata.outputs_size(),
        " outputs with raw contents, got ", reply->outputs_size(),
        " outputs and ", reply->raw_output_contents_size(), " contents"));
  }
  return absl::OkStatus();
}

void PrintPoint(const PointResult& point) {
  std::fprintf(
      stderr, "  %-26s %8.0f/s  p50 %.2f ms  p99 %.2f ms%s%s\n",
      DescribeLoad(point).c_str(), point.achieved_rate,
      point.latency.p50_us / 1e3, point.latency.p99_us / 1e3,
      point.void_reason.empty() ? "" : "  void: ", point.void_reason.c_str());
}

int Report(const RunOptions& options, const RunResult& run) {
  const std::vector<RunResult> runs = {run};
  std::fputs(ToText(MakeTable(runs)).c_str(), stdout);
  if (!options.json_path.empty()) {
    if (const auto status = WriteFile(options.json_path, ToJson(runs));
        !status.ok()) {
      return Fail(status);
    }
    std::printf("results: %s\n", options.json_path.c_str());
  }
  if (!options.html_path.empty()) {
    if (const auto status = WriteFile(options.html_path, ToHtml(runs));
        !status.ok()) {
      return Fail(status);
    }
    std::printf("report: %s\n", options.html_path.c_str());
  }
  for (const PointResult& point : run.points) {
    if (point.ok > 0) {
      return 0;
    }
  }
  std::fprintf(stderr, "ferry-bench: no request succeeded\n");
  return 1;
}

int Run(const RunOptions& given, const std::string& command_line) {
  const auto completed = CompleteRunOptions(given);
  if (!completed.ok()) {
    return Fail(completed.status());
  }
  const RunOptions& options = *completed;
  const ModelClient client(options.address, options.model);
  if (const auto ready =
          client.AwaitReady(Milliseconds(options.wait_ready_s * 1e3));
      !ready.ok()) {
    return Fail(ready);
  }
  const auto description = client.Describe();
  if (!description.ok()) {
    return Fail(description.status());
  }
  auto pool = MakeRequestPool(description->metadata, description->config,
                              options.requests);
  if (!pool.ok()) {
    return Fail(pool.status());
  }
  if (const auto first = CheckFirstReply(client, pool->front(), *description);
      !first.ok()) {
    return Fail(first);
  }
  RunResult run = DescribeRun(options, *description, command_line);
  run.request_bytes = pool->front().Length();
  auto target =
      GrpcTarget::Create(options.target, std::move(*pool), kConnectLimit);
  if (!target.ok()) {
    return Fail(target.status());
  }
  const ServerProbe probe(client, description->has_statistics,
                          options.metrics_address);
  Sweep sweep(options.sweep, **target, probe, description->lanes());
  std::fprintf(stderr, "%s: model %s at %s\n", options.label.c_str(),
               options.model.c_str(), options.address.c_str());
  {
    SignalWatcher watcher([&sweep] { sweep.Stop(); });
    sweep.Run(run, PrintPoint);
  }
  return Report(options, run);
}

}  // namespace

void AddRunCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* const command = app.add_subcommand(
      "run", "put loads on one server and report what it did");
  AddRunFlags(*command, *options);
  command->callback([options, &invocation] {
    invocation.chosen = [options, &invocation] {
      return Run(*options, invocation.command_line);
    };
  });
}

}  // namespace ferry::bench
