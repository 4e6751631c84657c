// Implements `ferry-bench simulate`: tells what a policy would do on a device
// of a given speed.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/replaced_file.h"
#include "bench/client/request_class.h"
#include "bench/commands/batcher_flags.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/report/machine.h"
#include "bench/report/report_json.h"
#include "bench/report/writable_file.h"
#include "bench/virtual/virtual_run.h"
#include "bench/virtual/virtual_summary.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

struct SimulateFlags {
  BatcherFlags batcher;
  // Shares of the compute; one of them makes it a device with streams.
  std::optional<double> gather;
  std::optional<double> copy_in;
  std::optional<double> copy_out;
  double load = 0.5;
  double duration_s = 60;
  std::vector<std::string> classes;
  std::string json_path;
  std::string log_path;
  VirtualRunOptions run;
};

// A class as typed, and its weight.
struct WeightedClass {
  VirtualClass of;
  double weight = 1;  // its requests' share is that of the sum of all weights
};

// Reads "NAME:weight=0.2,priority=1,rows=1,timeout_ms=0,width=1,burst=1".
absl::StatusOr<WeightedClass> ReadWeighted(const std::string& text) {
  constexpr double kMostWidth = 1e9;
  RequestClass common;
  double width = 1;
  double burst = 1;
  const auto name = ReadClass(
      text, "weight, rows, priority, timeout_ms, width and burst",
      [&](absl::string_view key, absl::string_view value) {
        return key == "width"   ? ReadNumber(value, 1, kMostWidth, width)
               : key == "burst" ? ReadNumber(value, 1, 1e6, burst)
                                : ReadCommonPart(key, value, common) &&
                                      common.priority <= kMaxLevels;
      });
  if (!name.ok()) {
    return name.status();
  }
  return WeightedClass{.of = {.name = *name,
                              .rows = common.rows,
                              .level = std::max(common.priority - 1, 0),
                              .width = static_cast<int64_t>(width),
                              .timeout = common.timeout,
                              .mean_burst = burst},
                       .weight = common.weight};
}

// Divides so many rows/s among the requests of the classes, by their weights.
absl::StatusOr<std::vector<VirtualClass>> ReadClasses(
    const std::vector<std::string>& texts, double rows_per_second) {
  std::vector<WeightedClass> weighted;
  double rows_of_weight = 0;
  for (const std::string& text : texts) {
    const auto read = ReadWeighted(text);
    if (!read.ok()) {
      return read.status();
    }
    weighted.push_back(*read);
    rows_of_weight += read->weight * read->of.rows;
  }
  std::vector<VirtualClass> classes;
  for (WeightedClass& one : weighted) {
    one.of.per_second = one.weight * rows_per_second / rows_of_weight;
    classes.push_back(one.of);
  }
  return classes;
}

// The device of the flags where it copies and computes at once.
std::optional<VirtualStreamsOptions> StreamsOf(const SimulateFlags& flags) {
  if (!flags.gather.has_value() && !flags.copy_in.has_value() &&
      !flags.copy_out.has_value()) {
    return std::nullopt;
  }
  const auto share = [&flags](const std::optional<double>& of) {
    return StepTime{Milliseconds(of.value_or(0) * flags.batcher.alpha_ms),
                    Milliseconds(of.value_or(0) * flags.batcher.beta_ms)};
  };
  return VirtualStreamsOptions{
      .max_in_flight = flags.run.device.max_in_flight,
      .max_batch_size = flags.run.scheduler.max_batch_size,
      .gather = share(flags.gather),
      .copy_in = share(flags.copy_in),
      .compute = share(1.0),
      .copy_out = share(flags.copy_out)};
}

absl::Status Complete(SimulateFlags& flags) {
  VirtualRunOptions& run = flags.run;
  ReadBatcherFlags(flags.batcher, run.scheduler);
  run.device.alpha = Milliseconds(flags.batcher.alpha_ms);
  run.device.beta = Milliseconds(flags.batcher.beta_ms);
  run.device.max_batch_size = run.scheduler.max_batch_size;
  run.device.buckets = run.scheduler.buckets;
  run.streams = StreamsOf(flags);
  run.duration = Milliseconds(flags.duration_s * 1e3);
  const int32_t rows = run.scheduler.max_batch_size;
  const Duration full = run.ServiceTime(rows);
  if (full <= Duration(0)) {
    return absl::InvalidArgumentError(
        "--alpha-ms, --beta-ms: expected one of them above 0");
  }
  const double saturation =
      1e9 * run.instances() * rows / static_cast<double>(full.count());
  if (flags.classes.empty()) {
    flags.classes.push_back("all:");
  }
  auto classes = ReadClasses(flags.classes, flags.load * saturation);
  if (!classes.ok()) {
    return classes.status();
  }
  run.classes = *std::move(classes);
  int32_t levels = 1;
  for (const VirtualClass& one : run.classes) {
    levels = std::max(levels, one.level + 1);
  }
  run.scheduler.levels.resize(static_cast<size_t>(levels));
  return absl::OkStatus();
}

// Columns: arrival and end in ns since the first second, class, code.
void AppendRecord(const VirtualRecord& record, std::string& log) {
  absl::StrAppend(&log, ToNanos(record.arrival), ",", ToNanos(record.end), ",",
                  record.class_index, ",", record.was_refused ? "refused:" : "",
                  absl::StatusCodeToString(record.code), "\n");
}

int Simulate(SimulateFlags& flags) {
  if (absl::Status status = Complete(flags); !status.ok()) {
    return Fail(status);
  }
  VirtualSummary summary(flags.run);
  std::string log = "arrival_ns,end_ns,class,code\n";
  const auto result = RunVirtual(flags.run, [&](const VirtualRecord& record) {
    summary.Add(record);
    if (!flags.log_path.empty()) {
      AppendRecord(record, log);
    }
  });
  if (!result.ok()) {
    return Fail(result.status());
  }
  std::fputs(summary.ToText(*result).c_str(), stderr);
  const std::string json = summary.ToJson(*result);
  absl::Status status;
  if (!flags.log_path.empty()) {
    status.Update(ReplaceFile(flags.log_path, log));
  }
  if (flags.json_path.empty()) {
    std::fputs(json.c_str(), stdout);
  } else {
    status.Update(ReplaceFile(flags.json_path, json));
  }
  return status.ok() ? 0 : Fail(status);
}

// Such a device has none of what `excluded` sets.
void AddStreamFlags(CLI::App& command, SimulateFlags& flags,
                    const std::vector<CLI::Option*>& excluded) {
  const auto add = [&](const char* name, std::optional<double>& share,
                       const char* what) {
    CLI::Option* const option = command.add_option(name, share, what)
                                    ->check(NumberFrom(0.0, 100.0))
                                    ->type_name("SHARE");
    for (CLI::Option* const other : excluded) {
      option->excludes(other);
    }
  };
  add("--gather", flags.gather,
      "a batch is gathered for this share of s(b) while the one before "
      "computes");
  add("--copy-in", flags.copy_in,
      "and copied to the device for this one, beside both");
  add("--copy-out", flags.copy_out,
      "and back for this one, while the next computes");
}

}  // namespace

void AddSimulateCommand(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<SimulateFlags>();
  SchedulerOptions& scheduler = flags->run.scheduler;
  VirtualDeviceOptions& device = flags->run.device;
  CLI::App& command = *app.add_subcommand(
      "simulate",
      "play open-loop load against Ferry's batcher on a simulated device of "
      "s(b) = alpha + beta * b, on a virtual clock");
  AddBatcherFlags(command, flags->batcher, scheduler);  // and its group
  CLI::Option* const jitter =
      command
          .add_option("--jitter", device.jitter, "s(b) varies by this share")
          ->check(NumberFrom(0.0, 0.99))
          ->capture_default_str();
  CLI::Option* const instances =
      command
          .add_option("--instances", device.instances,
                      "batches computed at once")
          ->check(IntegerFrom(1, 1024))
          ->capture_default_str();
  command
      .add_option("--pipeline-depth", device.max_in_flight,
                  "batches an instance takes, the one it computes included")
      ->check(IntegerFrom(1, 16))
      ->capture_default_str();
  CLI::Option* const buckets =
      command
          .add_option("--buckets", scheduler.buckets,
                      "rows that batches are padded to, max_batch_size last")
          ->delimiter(',');
  AddStreamFlags(command, *flags, {jitter, instances, buckets});
  command.option_defaults()->group("Loads");
  command
      .add_option(
          "--load", flags->load,
          "offered rows, of instances * B / s(B) with B = max_batch_size")
      ->check(NumberFrom(1e-6, 1e3))
      ->capture_default_str();
  command
      .add_option("--class", flags->classes,
                  "one kind of a mix, as of `run`: urgent:weight=0.2,rows=4; "
                  "keys are weight, rows, priority, timeout_ms, and here also "
                  "width, by which shapes differ, and burst, the mean requests "
                  "of an arrival")
      ->type_name("NAME:KEY=VALUE,...");
  command.add_option("--duration-secs", flags->duration_s, "of arrivals")
      ->check(NumberFrom(1e-3, 1e6))
      ->capture_default_str();
  command.add_option("--seed", flags->run.seed, "of all that is random")
      ->capture_default_str();
  command.option_defaults()->group("Results");
  AddResultFile(command, "--json", flags->json_path, "file for the result");
  AddResultFile(command, "--log", flags->log_path,
                "file for a line of CSV a request");
  command.callback([flags, &invocation] {
    invocation.chosen = [flags] { return Simulate(*flags); };
  });
}

}  // namespace ferry::bench
