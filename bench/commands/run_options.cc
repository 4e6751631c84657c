// Implements AddRunFlags() and its parts: flags to options.
#include "bench/commands/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/commands/connection_flags.h"
#include "bench/commands/trace_rounds.h"
#include "bench/report/writable_file.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

constexpr double kLongestSeconds = 1e6;
constexpr int kMostProcesses = 64;

}  // namespace

void AddServerFlags(CLI::App& command, RunOptions& options) {
  AddModelFlags(command, options.connection, options.address, options.model,
                options.wait_ready_s);
  command.option_defaults()->group("What is read of the server");
  command.add_option("--metrics", options.metrics_address,
                     "the server's metrics, host:port, for its busy ratio, why "
                     "its batches closed and what it tells of its device");
  command
      .add_option("--nvml", options.nvml,
                  "the server's device, where that is in this machine, to ask "
                  "NVML for its utilization, memory, power and clocks: N as "
                  "nvidia-smi counts, GPU-<uuid> or MIG-<uuid>")
      ->type_name("DEVICE");
  command.option_defaults()->group("This client");
  command
      .add_option("--connections", options.target.connections,
                  "connections to the server")
      ->check(IntegerFrom(1, 256))
      ->capture_default_str();
  command
      .add_option("--queues", options.target.queues,
                  "completion queues of the client, a thread each")
      ->check(IntegerFrom(1, 64))
      ->capture_default_str();
}

void AddRowsFlag(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Requests");
  command.add_option("--rows", options.requests.rows, "rows of each request")
      ->check(IntegerFrom(1, 1 << 20))
      ->capture_default_str();
}

void AddTimeoutFlag(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Requests");
  command
      .add_option("--timeout-ms", options.timeout_ms,
                  "of each request in the queue, its parameter 'timeout'; 0: "
                  "none")
      ->check(NumberFrom(0.0, kLongestSeconds * 1e3))
      ->capture_default_str();
}

void AddInputFlags(CLI::App& command, InputFlags& flags) {
  command.option_defaults()->group("Requests");
  command
      .add_option("--shape", flags.shapes,
                  "name:sizes of one row of an input, as ids:128")
      ->type_name("NAME:SIZES");
  command
      .add_option("--range", flags.ranges,
                  "name:low:high for an integer input, both included; 0 to 1 "
                  "otherwise, "
                  "which every vocabulary has")
      ->type_name("NAME:LOW:HIGH");
}

void AddContentFlags(CLI::App& command, RunOptions& options) {
  AddRowsFlag(command, options);
  AddInputFlags(command, options.inputs);
  command
      .add_option("--data", options.requests.data,
                  "real inputs instead of random ones: perf_analyzer's JSON, "
                  "or a folder with a file for each input (docs/bench.md)")
      ->type_name("PATH")
      ->excludes("--range");
  command
      .add_option("--data-order", options.data_order,
                  "of the samples of --data; random: --requests that are drawn "
                  "by the seed")
      ->check(OneOf({"turn", "random"}))
      ->capture_default_str();
  command
      .add_option("--requests", options.requests.count,
                  "different requests to send in turn")
      ->check(IntegerFrom(1, 1 << 16))
      ->capture_default_str();
  command
      .add_option("--seed", options.sweep.seed,
                  "of contents and arrivals; each rate adds one")
      ->capture_default_str();
}

void AddRequestFlags(CLI::App& command, RunOptions& options) {
  AddContentFlags(command, options);
  command
      .add_option("--deadline-ms", options.deadline_ms,
                  "gRPC deadline of each request; 0: none")
      ->check(NumberFrom(0.0, kLongestSeconds * 1e3))
      ->capture_default_str();
  AddTimeoutFlag(command, options);
  command.add_flag("--shared-memory", options.shared_memory,
                   "tensors in shared memory of this machine, which the server "
                   "registers, inputs and outputs (docs/shared-memory.md)");
  command
      .add_option("--class", options.class_texts,
                  "one kind of a mix, instead of all alike: "
                  "urgent:weight=0.2,rows=4; keys are weight, rows, priority, "
                  "deadline_ms, timeout_ms, cancel (a share), cancel_ms, "
                  "model, shape (ids:16x4) and data; what is left out is as "
                  "the other flags say")
      ->type_name("NAME:KEY=VALUE,...");
}

void AddProcessFlags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("This client");
  command
      .add_option("--processes", options.processes,
                  "of this client that share each load, where one cannot send "
                  "it on time; each with so many --connections and --queues")
      ->check(IntegerFrom(1, kMostProcesses))
      ->capture_default_str();
  // For the processes that --processes starts.
  command.add_option("--as-process", options.as_process)
      ->check(IntegerFrom(0, kMostProcesses - 1))
      ->group("");
}

void AddLoadFlags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Loads");
  command
      .add_option("--outstanding", options.sweep.outstanding,
                  "closed loops, each with so many outstanding: 1,64")
      ->delimiter(',')
      ->check(IntegerFrom(1, 1 << 16));
  command
      .add_option("--rates", options.sweep.rates,
                  "open loops, requests/s: 500,1000")
      ->delimiter(',')
      ->check(NumberFrom(1e-3, 1e9));
  command
      .add_option("--loads", options.sweep.loads,
                  "open loops, shares of saturation: 0.5,0.8; default "
                  "0.2,0.4,0.6,0.8,0.9 where no load is given at all")
      ->delimiter(',')
      ->check(NumberFrom(1e-3, 1e9));
  command
      .add_option("--scenario", options.scenario,
                  absl::StrCat("a load of MLPerf Inference: ", kScenarioForms))
      ->type_name("{single-stream,multi-stream:N,server:RATE,offline:SAMPLES}")
      ->excludes("--outstanding")
      ->excludes("--rates")
      ->excludes("--loads")
      ->excludes("--arrivals")
      ->excludes("--rows");
}

void AddWindowFlags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Arrivals and windows");
  command
      .add_option("--arrivals", options.arrivals,
                  absl::StrCat("of open loops: ", kArrivalForms))
      ->type_name(
          "{poisson,constant,gamma:CV,bursts:MEAN,onoff:TIMES,trace:FILE}")
      ->capture_default_str();
  command
      .add_option("--saturation-outstanding",
                  options.sweep.saturation_outstanding,
                  "closed loop that finds the saturation")
      ->check(IntegerFrom(1, 1 << 16))
      ->capture_default_str();
  command
      .add_option("--max-outstanding", options.sweep.max_outstanding,
                  "bound of an open loop; a run that meets it is void")
      ->check(IntegerFrom(1, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--warm-up-secs", options.warm_up_s,
                  "excluded, before each point")
      ->check(NumberFrom(0.0, kLongestSeconds))
      ->capture_default_str();
  command
      .add_option("--duration-secs", options.duration_s,
                  "of each point; of a trace alone, where it is not given, one "
                  "whole round of the trace")
      ->check(NumberFrom(0.01, kLongestSeconds))
      ->each([&options](const std::string&) { options.has_duration = true; })
      ->capture_default_str();
}

void AddReportFlags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Results");
  command.add_option("--label", options.label,
                     "name of this run in tables and charts");
  AddReportFileFlags(command, options.files);
  command
      .add_option("--fail-if", options.fail_if,
                  "end with exit code 2 where a point is so: 'p99>20ms', "
                  "'errors>0.1%', 'rate<1000', 'goodput<900' (with --slo-ms). "
                  "Requests that failed are infinitely late. Void points "
                  "count, and percentiles of too few requests")
      ->type_name("CONDITION");
}

void AddGoodputFlag(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Results");
  command
      .add_option("--slo-ms", options.slo_ms,
                  "bound of latency from the planned send, to count the "
                  "goodput by: successes/s within it; the page draws it")
      ->check(NumberFrom(1e-3, 1e9));
}

absl::Status ReadInputs(const InputFlags& flags, RequestPoolOptions& requests) {
  for (const std::string& text : flags.shapes) {
    if (auto status = ParseShape(text, &requests.shapes); !status.ok()) {
      return status;
    }
  }
  for (const std::string& text : flags.ranges) {
    if (auto status = ParseRange(text, &requests.ranges); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

namespace {

absl::Status ReadScenario(RunOptions& options) {
  const auto scenario = ParseScenario(options.scenario);
  if (!scenario.ok()) {
    return scenario.status();
  }
  options.requests.rows = scenario->rows;
  options.offline = scenario->offline;
  if (options.offline.samples > 0) {
    return options.class_texts.empty()
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(
                     "--scenario: expected no --class beside offline, whose "
                     "requests are all alike, got '",
                     options.scenario, "'"));
  }
  if (scenario->outstanding > 0) {
    options.sweep.outstanding = {scenario->outstanding};
  } else {
    options.sweep.rates = {scenario->rate};
  }
  return absl::OkStatus();
}

absl::Status WrongArrivals(const char* expected, const RunOptions& options) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--arrivals: expected ", expected, ", got '", options.arrivals, "'"));
}

absl::Status ReadLoads(RunOptions& options) {
  SweepOptions& sweep = options.sweep;
  auto arrivals = ParseArrivals(options.arrivals);
  if (!arrivals.ok()) {
    return arrivals.status();
  }
  sweep.arrivals = *std::move(arrivals);
  const bool is_open = !sweep.rates.empty() || !sweep.loads.empty();
  if (is_open && sweep.arrivals.has_scale) {
    return WrongArrivals(
        "no SCALE beside --rates or --loads, which set the rate", options);
  }
  if (is_open) {
    return absl::OkStatus();
  }
  if (sweep.arrivals.own_rate > 0) {
    sweep.rates = {sweep.arrivals.own_rate};
    if (!options.has_duration && sweep.outstanding.empty()) {
      options.duration_s =
          std::min(WholeRoundsSecs(sweep, options.duration_s), kLongestSeconds);
      options.flags["duration-secs"] =
          absl::StrFormat("%.6g", options.duration_s);
    }
  } else if (sweep.outstanding.empty()) {
    sweep.outstanding = {1};
    sweep.loads = {0.2, 0.4, 0.6, 0.8, 0.9};
  } else if (sweep.arrivals.name != "poisson") {
    return WrongArrivals("--rates or --loads beside --outstanding", options);
  }
  return absl::OkStatus();
}

}  // namespace

void AddRunFlags(CLI::App& command, RunOptions& options) {
  AddServerFlags(command, options);
  AddRequestFlags(command, options);
  AddWindowFlags(command, options);
  AddLoadFlags(command, options);
  AddProcessFlags(command, options);
  command.option_defaults()->group("Results");
  AddResultFile(command, "--log", options.log_path,
                "file for when each request was planned, sent and ended, as "
                "CSV");
  AddReportFlags(command, options);
  AddGoodputFlag(command, options);
}

std::map<std::string, std::string> EffectiveFlags(const CLI::App& command) {
  std::map<std::string, std::string> flags;
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_lnames().empty() || option->get_group().empty() ||
        option == command.get_help_ptr()) {
      continue;
    }
    const std::string value = option->count() == 0 ? option->get_default_str()
                              : option->get_lnames().front() == kHeaderFlag
                                  ? HeadersWithoutValues(option->results())
                                  : absl::StrJoin(option->results(), ",");
    if (!value.empty()) {
      flags[option->get_lnames().front()] = value;
    }
  }
  return flags;
}

absl::StatusOr<RunOptions> CompleteRunOptions(RunOptions options) {
  absl::Status status = ReadInputs(options.inputs, options.requests);
  if (status.ok()) {
    status =
        options.scenario.empty() ? ReadLoads(options) : ReadScenario(options);
  }
  if (!status.ok()) {
    return status;
  }
  if (options.offline.samples > 0 && options.processes > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--processes: expected 1 beside --scenario offline, whose "
                     "query is of one process; got ",
                     options.processes));
  }
  const RequestClass all = {.rows = options.requests.rows,
                            .deadline = Milliseconds(options.deadline_ms),
                            .timeout = Milliseconds(options.timeout_ms)};
  for (const std::string& text : options.class_texts) {
    auto read = ParseRequestClass(text, all);
    if (!read.ok()) {
      return read.status();
    }
    options.classes.push_back(*std::move(read));
  }
  if (options.classes.empty()) {
    options.classes = {all};
  }
  for (const std::string& text : options.fail_if) {
    auto condition = ParseCondition(text);
    if (!condition.ok()) {
      return condition.status();
    }
    if (TakesSlo(*condition) && options.slo_ms == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--fail-if: expected --slo-ms, the bound of the goodput, beside '",
          text, "', found none"));
    }
    options.conditions.push_back(*std::move(condition));
  }
  if (options.label.empty()) {
    options.label = options.model;
  }
  options.requests.seed = options.sweep.seed;
  options.requests.draws_samples = options.data_order == "random";
  auto connection = ReadConnection(options.connection);
  if (!connection.ok()) {
    return connection.status();
  }
  options.target.connection = *std::move(connection);
  options.target.address = options.address;
  options.target.number_step = static_cast<uint64_t>(options.processes);
  options.sweep.warm_up = Milliseconds(options.warm_up_s * 1e3);
  options.sweep.measured = Milliseconds(options.duration_s * 1e3);
  return options;
}

}  // namespace ferry::bench
