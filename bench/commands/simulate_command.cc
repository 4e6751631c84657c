// Implements `ferry-bench simulate`: tells what a policy would do on a device
// of a given speed.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/commands/batcher_flags.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/report/machine.h"
#include "bench/report/report_json.h"
#include "bench/report/writable_file.h"
#include "bench/virtual/virtual_run.h"
#include "bench/virtual/virtual_summary.h"
#include "flags/number_from.h"

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

// A class as typed: "share=0.2,priority=1,rows=1,width=1,timeout_ms=0,burst=1".
// `share` is of the offered rows.
absl::Status ReadClass(const std::string& text, double rows_per_second,
                       VirtualClass& result) {
  double share = 1;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    double value = 0;
    if (!absl::SimpleAtod(pair.second, &value) ||
        !(value >= 0 && value < 1e9)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--class: expected NAME=NUMBER with commas between, got '", part,
          "'"));
    }
    if (pair.first == "share") {
      share = value;
    } else if (pair.first == "rows") {
      result.rows = static_cast<int32_t>(std::max(value, 1.0));
    } else if (pair.first == "priority") {
      result.level = static_cast<int32_t>(value) - 1;
    } else if (pair.first == "width") {
      result.width = static_cast<int64_t>(value);
    } else if (pair.first == "timeout_ms") {
      result.timeout = Milliseconds(value);
    } else if (pair.first == "burst") {
      result.mean_burst = std::max(value, 1.0);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--class: expected share, rows, priority, width, "
                       "timeout_ms or burst, got '",
                       pair.first, "'"));
    }
  }
  if (share <= 0 || result.level < 0 || result.level >= kMaxLevels) {
    return absl::InvalidArgumentError(
        absl::StrCat("--class: expected a share above 0 and a priority from 1 "
                     "to ",
                     kMaxLevels, ", got '", text, "'"));
  }
  result.per_second = share * rows_per_second / result.rows;
  return absl::OkStatus();
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
    flags.classes.push_back("share=1");
  }
  int32_t levels = 1;
  for (const std::string& text : flags.classes) {
    VirtualClass& added = run.classes.emplace_back();
    if (absl::Status status = ReadClass(text, flags.load * saturation, added);
        !status.ok()) {
      return status;
    }
    levels = std::max(levels, added.level + 1);
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
  const std::string json = summary.ToJson(*result);
  absl::Status status;
  if (!flags.log_path.empty()) {
    status.Update(WriteFile(flags.log_path, log));
  }
  if (flags.json_path.empty()) {
    std::fputs(json.c_str(), stdout);
  } else {
    status.Update(WriteFile(flags.json_path, json));
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
      "Play open-loop load against Ferry's batcher on a simulated device of "
      "s(b) = alpha + beta * b, on a virtual clock");
  AddBatcherFlags(command, flags->batcher, scheduler);
  CLI::Option* const jitter =
      command
          .add_option("--jitter", device.jitter, "s(b) varies by this share")
          ->check(NumberFrom(0.0, 0.99))
          ->capture_default_str();
  CLI::Option* const instances =
      command
          .add_option("--instances", device.instances,
                      "batches computed at once")
          ->check(CLI::Range(1, 1024))
          ->capture_default_str();
  command
      .add_option("--pipeline-depth", device.max_in_flight,
                  "batches an instance takes, the one it computes included")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  CLI::Option* const buckets =
      command
          .add_option("--buckets", scheduler.buckets,
                      "rows that batches are padded to, max_batch_size last")
          ->delimiter(',');
  AddStreamFlags(command, *flags, {jitter, instances, buckets});
  command
      .add_option(
          "--load", flags->load,
          "offered rows, of instances * B / s(B) with B = max_batch_size")
      ->check(NumberFrom(1e-6, 1e3))
      ->capture_default_str();
  command
      .add_option("--class", flags->classes,
                  "requests of one kind: share=0.2,priority=1,rows=1,width=1,"
                  "timeout_ms=0,burst=1 (repeatable)")
      ->type_name("NAME=NUMBER,...");
  command.add_option("--duration-secs", flags->duration_s, "of arrivals")
      ->check(NumberFrom(1e-3, 1e6))
      ->capture_default_str();
  command.add_option("--seed", flags->run.seed, "of all that is random")
      ->capture_default_str();
  AddResultFile(command, "--json", flags->json_path, "file for the result");
  AddResultFile(command, "--log", flags->log_path,
                "file for a line of CSV a request");
  command.callback([flags, &invocation] {
    invocation.chosen = [flags] { return Simulate(*flags); };
  });
}

}  // namespace ferry::bench
