// Implements the reports of commands: prints the table, writes JSON and page.
#include "bench/commands/command_report.h"

#include <errno.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_replace.h"
#include "base/printable_text.h"
#include "bench/commands/bench_identity.h"
#include "bench/commands/interruption.h"
#include "bench/commands/progress_line.h"
#include "bench/commands/trace_rounds.h"
#include "bench/report/device_table.h"
#include "bench/report/machine.h"
#include "bench/report/point_rules.h"
#include "bench/report/report_table.h"
#include "flags/terminal.h"

namespace ferry::bench {
namespace {

constexpr int kConditionHolds = 2;

}  // namespace

int Fail(const absl::Status& status) {
  std::fprintf(
      stderr, "%s: %s\n", program_invocation_short_name,
      PrintableText(absl::StrReplaceAll(status.message(), {{"\n", "\n  "}}),
                    absl::string_view::npos, "\n")
          .c_str());
  return 1;
}

void PrintRounds(const RunOptions& options) {
  for (const std::string& line : DescribeRounds(options.sweep)) {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

RunResult DescribeClient(const RunOptions& options,
                         const std::string& command_line) {
  const Machine machine = DescribeMachine();
  RunResult run;
  run.label = options.label;
  run.date = DateNow();
  run.command = command_line;
  run.client_version = FERRY_VERSION;
  run.warm_up_s = options.warm_up_s;
  run.cpu = machine.cpu;
  run.cpu_flags = machine.cpu_flags;
  run.cores = machine.cores;
  run.kernel = machine.kernel;
  run.environment = {.governor = machine.governor,
                     .load_average = machine.load_average,
                     .memory_bytes = machine.memory_bytes,
                     .grpc_version = grpc::Version(),
                     .compiler = CompilerName(),
                     .build = BenchIdentity(),
                     .server_extensions = {},
                     .instances = {},
                     .flags = options.flags};
  return run;
}

void PrintPoint(const PointResult& point) {
  ClearProgress();
  std::fprintf(
      stderr, "  %-26s %8.0f/s  p50 %.2f ms  p99 %.2f ms  %s%s%s\n",
      DescribeLoad(point).c_str(), point.achieved_rate,
      point.latency.p50_us / 1e3, point.latency.p99_us / 1e3,
      point.purpose.c_str(),
      point.void_reason.empty() ? "" : "  void: ", point.void_reason.c_str());
}

int Report(const RunOptions& options, const std::vector<RunResult>& runs) {
  std::fputs(ToText(MakeTable(runs), TerminalColumns()).c_str(), stdout);
  if (const ReportTable classes = MakeClassTable(runs); !classes.rows.empty()) {
    std::fputs(ToText(classes, TerminalColumns()).c_str(), stdout);
  }
  if (const ReportTable device = MakeDeviceTable(runs); !device.rows.empty()) {
    std::fputs(ToText(device, TerminalColumns()).c_str(), stdout);
  }
  if (const auto status = WriteReportFiles(options.files, runs); !status.ok()) {
    return Fail(status);
  }
  int code = 0;
  for (const RunResult& run : runs) {
    const bool any_succeeded =
        std::any_of(run.points.begin(), run.points.end(),
                    [](const PointResult& point) { return point.ok > 0; });
    if (!any_succeeded) {
      std::fprintf(stderr, "%s: %s: no request succeeded\n",
                   program_invocation_short_name,
                   PrintableText(run.label).c_str());
      code = 1;
      continue;
    }
    for (const std::string& load : LoadsWithoutSuccess(run)) {
      std::fprintf(stderr, "%s: %s, %s: no request succeeded\n",
                   program_invocation_short_name,
                   PrintableText(run.label).c_str(), load.c_str());
      code = 1;
    }
  }
  return code;
}

int FailAfter(const RunOptions& options, const RunResult& run,
              const absl::Status& status) {
  if (!run.points.empty()) {
    Report(options, {run});
  }
  return Fail(status);
}

int Judge(const RunOptions& options, const RunResult& run) {
  const std::vector<std::string> failures = Failures(options.conditions, run);
  for (const std::string& failure : failures) {
    std::fprintf(
        stderr, "%s: --fail-if: %s, %s\n", program_invocation_short_name,
        PrintableText(run.label).c_str(), PrintableText(failure).c_str());
  }
  return failures.empty() ? 0 : kConditionHolds;
}

void PrintCeiling(const RunResult& run) {
  if (!run.search.has_value() || run.search->client_ceiling <= 0) {
    return;
  }
  const std::string with =
      run.runtime_options.has_value() ? " with " + run.label : "";
  std::printf(
      "this client could not send %.0f/s on time%s: more may be possible; "
      "what to do is told above\n",
      run.search->client_ceiling, PrintableText(with).c_str());
}

int TellInterruption(const std::string& what) {
  if (what.empty()) {
    return 0;
  }
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  return kExitInterrupted;
}

}  // namespace ferry::bench
