// Implements ParseLaunchOptions: holds the flags as --help shows them.
#include "deploy/launch/launch_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "flags/parse_flags.h"
#include "flags/value_checks.h"
#include "models/nvml/device_choice.h"

namespace ferry::launch {
namespace {

constexpr int kMaxServers = 1024;
constexpr int kMaxPort = 65535;
constexpr double kMaxSeconds = 86400;
// Their --exit-timeout-secs, where none is given.
constexpr double kServersExitSeconds = 20;

struct RawFlags {
  double first_s = 0.5;
  double most_s = 30;
  double healthy_s = 60;
  double hang_s = 30;
  double stop_s = 60;
  bool dry_run = false;
};

void AddServerFlags(CLI::App& app, LaunchOptions& options) {
  const char* const group = "Servers";
  CLI::Option* const servers =
      app.add_option("--servers", options.cpu_servers,
                     "this many servers on the CPU, instead of one a slice")
          ->check(IntegerFrom(1, kMaxServers))
          ->type_name("N")
          ->group(group);
  app.add_option("--slices", options.slice_uuids,
                 "UUIDs of MIG slices or GPUs, one server each, instead of "
                 "those that NVML finds")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->excludes(servers)
      ->type_name("UUID,..")
      ->group(group);
  app.add_option("--labels", options.plan.labels,
                 "a name for each server, in the order of the slices "
                 "[<profile>-0, <profile>-1, .. or cpu-0, ..]")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME,..")
      ->group(group);
  app.add_option("--server", options.plan.server,
                 "the server program [ferry-server beside ferry-launch]")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--grpc-address", options.plan.grpc_address,
                 "IP address that all listen on for gRPC, a host name that has "
                 "one or more, or unix:FILE, as unix:/run/ferry/{label}.sock")
      ->type_name("HOST")
      ->capture_default_str()
      ->group(group);
  app.add_option("--grpc-port", options.plan.grpc_port,
                 "port of the first server; the next ones follow")
      ->check(IntegerFrom(1, kMaxPort))
      ->type_name("PORT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--metrics-address", options.plan.metrics_address,
                 "IP address that all listen on for metrics and health")
      ->type_name("IP")
      ->capture_default_str()
      ->group(group);
  app.add_option("--metrics-port", options.plan.metrics_port,
                 "port of the first server's metrics; the next ones follow")
      ->check(IntegerFrom(1, kMaxPort))
      ->type_name("PORT")
      ->capture_default_str()
      ->group(group);
}

void AddLifeFlags(CLI::App& app, RawFlags& raw, LaunchOptions& options) {
  const char* const group = "Restarts, stopping, status";
  const auto add_seconds = [&](const char* name, double& seconds, double least,
                               const char* text) {
    app.add_option(name, seconds, text)
        ->check(NumberFrom(least, kMaxSeconds))
        ->type_name("S")
        ->capture_default_str()
        ->group(group);
  };
  add_seconds("--restart-delay-secs", raw.first_s, 0.01,
              "a server that failed is started again after this, and twice as "
              "long after each further failure");
  add_seconds("--restart-max-delay-secs", raw.most_s, 0.01,
              "the longest of these delays");
  add_seconds("--healthy-secs", raw.healthy_s, 0,
              "a server that was ready for this long before it failed starts "
              "with the first delay again");
  add_seconds("--hang-timeout-secs", raw.hang_s, 0,
              "a server that leaves questions about its health without an "
              "answer for this long, once it has answered, is killed and "
              "started again; 0: never");
  add_seconds("--stop-timeout-secs", raw.stop_s, 0,
              "on SIGTERM, SIGINT or SIGHUP: what has not ended after this is "
              "killed; longer than --drain-delay-secs and --exit-timeout-secs "
              "of the servers together");
  app.add_option("--status-file", options.supervisor.status_file,
                 "JSON with the state of every server, replaced at each change")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--dry-run", raw.dry_run,
               "print the commands, one a line, and exit")
      ->group(group);
}

// Returns the --exit-timeout-secs of the servers, by their arguments: a server
// whose device is lost is not live for so long, and answers what it has
// admitted.
double ExitSeconds(const std::vector<std::string>& arguments) {
  constexpr absl::string_view kFlag = "--exit-timeout-secs";
  double seconds = kServersExitSeconds;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view value = arguments[i];
    if (value == kFlag && i + 1 < arguments.size()) {
      value = arguments[i + 1];
    } else if (!absl::ConsumePrefix(&value, absl::StrCat(kFlag, "="))) {
      continue;
    }
    if (!absl::SimpleAtod(value, &seconds)) {
      seconds = kServersExitSeconds;  // the server says what is wrong
    }
  }
  return seconds;
}

absl::Status Complete(const RawFlags& raw, LaunchOptions& options) {
  const double exit_s = ExitSeconds(options.plan.server_arguments);
  if (raw.hang_s > 0 && raw.hang_s <= exit_s) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hang-timeout-secs: expected more than the servers' "
                     "--exit-timeout-secs, ",
                     exit_s, ", got ", raw.hang_s,
                     "; give them a shorter one behind --: a server that ends "
                     "by itself would be killed before it has answered "
                     "what it admitted"));
  }
  if (raw.most_s < raw.first_s) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--restart-max-delay-secs: expected at least --restart-delay-secs, ",
        raw.first_s, ", got ", raw.most_s));
  }
  for (const std::string& uuid : options.slice_uuids) {
    const auto selector = nvml::ParseDevice(uuid);
    if (!selector.ok() || selector->uuid.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--slices: expected MIG-<uuid> or GPU-<uuid>, as "
                       "nvidia-smi -L prints it, got '",
                       uuid, "'"));
    }
  }
  SupervisorOptions& supervisor = options.supervisor;
  supervisor.back_off = {.first = Milliseconds(raw.first_s * 1000),
                         .most = Milliseconds(raw.most_s * 1000),
                         .healthy = Milliseconds(raw.healthy_s * 1000)};
  supervisor.hang_timeout = Milliseconds(raw.hang_s * 1000);
  supervisor.stop_timeout = Milliseconds(raw.stop_s * 1000);
  if (raw.dry_run) {
    options.action = LaunchOptions::Action::kPrintPlan;
  }
  return absl::OkStatus();
}

constexpr ForeignFlag kForeignFlags[] = {
    {"--model-repository", "ferry-server", "write it behind --"},
    {"--model", "ferry-server", "write it behind --"},
};

}  // namespace

absl::StatusOr<LaunchOptions> ParseLaunchOptions(int argc,
                                                 const char* const* argv) {
  LaunchOptions options;
  RawFlags raw;
  const char* const* const end = argv + argc;
  const char* const* const dashes = std::find_if(
      argv, end, [](const char* text) { return !std::strcmp(text, "--"); });
  if (dashes != end) {
    options.plan.server_arguments.assign(dashes + 1, end);
  }
  CLI::App app{
      "ferry-launch runs one ferry-server for each slice of the GPUs, or "
      "several on the CPU, starts again what fails, and passes SIGTERM on.\n"
      "What follows -- goes to every server; {label}, {uuid}, {profile}, "
      "{index}, {grpc_port}, {metrics_port}, {memory_mib} and {numa_node} in "
      "it stand for the slice's own."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", "ferry-launch " FERRY_VERSION);
  AddServerFlags(app, options);
  AddLifeFlags(app, raw, options);
  try {  // CLI11 reports by exceptions; none leaves this function
    ParseFlags(app, static_cast<int>(dashes - argv), argv, kForeignFlags);
  } catch (const CLI::CallForHelp&) {
    options.action = LaunchOptions::Action::kPrint;
    options.text = app.help();
    return options;
  } catch (const CLI::CallForVersion& version) {
    options.action = LaunchOptions::Action::kPrint;
    options.text = absl::StrCat(version.what(), "\n");
    return options;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(SeeHelp(error));
  }
  if (absl::Status status = Complete(raw, options); !status.ok()) {
    return status;
  }
  return options;
}

}  // namespace ferry::launch
