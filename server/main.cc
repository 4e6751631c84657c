// ferry-server reads flags, loads models, serves until a signal or the RPC
// Drain, and drains.
//
// Exit codes: 0 drained; 1 could not start; 3 a device is lost, something
// hangs, or memory runs out; 4 what was admitted was not finished in time;
// 128 + n ended at once by signal n. A crash ends it by a signal.
#include <absl/synchronization/mutex.h>
#include <errno.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/printable_text.h"
#include "base/thread_priority.h"
#include "models/device.h"
#include "models/files/temporary_folder.h"
#include "models/repository/model_repository.h"
#include "models/start_cuda.h"
#include "models/torch_library.h"
#include "server/auth/gatekeeper.h"
#include "server/control/check_config.h"
#include "server/control/probe_load.h"
#include "server/control/return_memory.h"
#include "server/crash_report.h"
#include "server/log.h"
#include "server/metrics/device_metrics.h"
#include "server/net/open_files.h"
#include "server/options.h"
#include "server/reason_file.h"
#include "server/server.h"
#include "server/service_notice.h"
#include "server/stop_signals.h"
#include "server/version.h"

namespace ferry {
namespace {

// How often the backends are looked after.
constexpr Duration kLookInterval = std::chrono::milliseconds(500);

// What a server needs to take itself apart, beside the time that is given.
constexpr Duration kTakeApart =
    Server::kMaxTeardown + std::chrono::milliseconds(500);

// In which a process that has no more to do is gone.
constexpr Duration kExitSoon = std::chrono::seconds(1);

// How long clients and balancers can see that the server is lost, at least.
constexpr Duration kLostGrace = std::chrono::seconds(1);

// Returns a text of several lines as a terminal may have it.
std::string Printable(absl::string_view text) {
  return PrintableText(text, std::string::npos, "\n");
}

int CannotStart(const absl::Status& status) {
  const std::string why = absl::StrCat("cannot start: ", status.message());
  spdlog::error("{}", why);
  WriteReason(why, kExitCannotStart);
  return kExitCannotStart;
}

// Writes all of it to standard output, or a duplicate of it, and closes that.
absl::Status Print(const std::string& text, int fd) {
  const bool is_written = dprintf(fd, "%s", text.c_str()) >= 0;
  return is_written && close(fd) == 0
             ? absl::OkStatus()
             : absl::UnavailableError(absl::StrCat(
                   "cannot write to standard output: ", strerror(errno)));
}

void WarnOfSmallQueue(const ServerOptions& options) {
  const int64_t bytes =
      options.repository.overrides.queue_bytes.value_or(QueueBounds().bytes);
  if (bytes < options.grpc.max_message_bytes) {
    spdlog::warn(
        "queue-bytes={} is less than grpc-max-message-bytes={}: larger "
        "requests are refused as invalid",
        bytes, options.grpc.max_message_bytes);
  }
}

void RaisePriorities(Priority priority) {
  if (priority == Priority::kRaised && !AllowRaisedPriority()) {
    spdlog::info(
        "threads that compute keep the priority of those that receive: raising "
        "it takes CAP_SYS_NICE or RLIMIT_NICE");
  }
}

absl::Status OpenOpLibraries(const ServerOptions& options) {
  for (const std::string& path : options.op_libraries) {
    const absl::StatusOr<int> operators = OpenOpLibrary(path);
    if (!operators.ok()) {
      return operators.status();
    }
    spdlog::info("op library opened file={} operators={}", path, *operators);
  }
  return absl::OkStatus();
}

// Returns CUDA_VISIBLE_DEVICES where it is set.
std::optional<std::string> VisibleDevices() {
  const char* const visible = std::getenv(kVisibleDevices);
  return visible == nullptr ? std::nullopt
                            : std::optional<std::string>(visible);
}

// Starts CUDA, and with it threads, where a device was claimed: what LibTorch's
// models compute on.
absl::Status StartDevice(Device* device, ServerOptions& options) {
  if (device == nullptr) {
    return absl::OkStatus();
  }
  auto started = StartCuda(*device);
  if (started.ok()) {
    options.repository.device = started->device;
    options.lifecycle.is_device_lost = started->is_lost;
  }
  return started.status();
}

void LogReady(const ServerOptions& options, const Server& server) {
  const std::string grpc =
      HostAndPort(options.grpc.address, server.grpc_port());
  std::string metrics = "off";
  if (server.metrics_port().has_value()) {
    metrics = HostAndPort(options.metrics.address, *server.metrics_port());
  }
  const std::string missing = absl::StrJoin(server.MissingModels(), ",");
  if (missing.empty() || !options.is_readiness_strict) {
    spdlog::info("ready grpc={} metrics={}{}{}", grpc, metrics,
                 missing.empty() ? "" : " missing=", missing);
    return;
  }
  spdlog::warn(
      "serves, but is not ready grpc={} metrics={} missing={}: it is when "
      "they are loaded or unloaded, or with --strict-readiness=false",
      grpc, metrics, missing);
}

void LogState(const Server& server) {
  for (const std::string& line : server.DescribeState()) {
    spdlog::info("{}", line);
  }
}

// Says what may be seen after an exit where a model runs on a device. A thread
// that sleeps in the kernel without heeding signals, as in a driver that hangs,
// keeps its process after exit_group(2), and with it the files that are open.
void WarnOfDriver(const LifecycleOptions& lifecycle, Duration at_most) {
  if (lifecycle.is_device_lost) {
    spdlog::warn(
        "device: expected this process to be gone in {} s; where it is not, a "
        "call into the driver holds it (state Z, a thread of it in state D by "
        "ps -L), its metrics port is taken and silent, and no signal ends it, "
        "SIGKILL neither: reset the GPU, or restart the node",
        std::chrono::ceil<std::chrono::seconds>(at_most).count());
  }
}

// Ends the process where a backend is lost, once what the others admitted is
// answered.
void LookAfterBackends(const LifecycleOptions& lifecycle, StopSignals& signals,
                       ServiceNotice& notice, Server& server) {
  const std::optional<std::string> why = server.Look();
  if (!why.has_value()) {
    return;
  }
  const TimePoint now = Clock::Steady().Now();
  const TimePoint deadline = now + lifecycle.exit_timeout;
  signals.ExitBy(deadline + kTakeApart, kExitDeviceLost);
  const std::string end = absl::StrCat("cannot go on: ", *why);
  spdlog::critical("{}", end);
  WriteReason(end, kExitDeviceLost);
  notice.Stops(end);
  LogState(server);
  WarnOfDriver(lifecycle, deadline + kTakeApart - now);
  server.FinishDrain(deadline).IgnoreError();  // what hangs is not answered
  signals.SleepUntil(now + kLostGrace);
  ExitNow(kExitDeviceLost);
}

// Returns what ended the wait, for the log.
std::string WaitForStop(const LifecycleOptions& lifecycle, StopSignals& signals,
                        ServiceNotice& notice, Server& server) {
  for (;;) {
    notice.Serves(server.is_ready() ? "ready" : "serves, but is not ready");
    if (const std::optional<int> signal = signals.WaitForStop(kLookInterval)) {
      return absl::StrCat("signal=", sigabbrev_np(*signal));
    }
    if (server.is_draining()) {
      return "rpc=Drain";
    }
    LookAfterBackends(lifecycle, signals, notice, server);
  }
}

// Goes on to serve until then.
void ServeUntil(TimePoint until, const LifecycleOptions& lifecycle,
                StopSignals& signals, ServiceNotice& notice, Server& server) {
  for (TimePoint now = Clock::Steady().Now(); now < until;
       now = Clock::Steady().Now()) {
    signals.SleepUntil(std::min(until, now + kLookInterval));
    LookAfterBackends(lifecycle, signals, notice, server);
  }
}

int DrainServer(const LifecycleOptions& lifecycle, const std::string& why,
                StopSignals& signals, ServiceNotice& notice, Server& server) {
  const Clock& clock = Clock::Steady();
  const TimePoint drain_from = clock.Now() + lifecycle.drain_delay;
  const TimePoint deadline = drain_from + lifecycle.exit_timeout;
  signals.ExitBy(deadline + kTakeApart);
  server.BeginDrain();
  spdlog::info("drains {}", why);
  notice.Stops(absl::StrCat("drains ", why));
  ServeUntil(drain_from, lifecycle, signals, notice, server);
  const absl::Status status = server.FinishDrain(deadline);
  if (absl::IsAborted(status)) {
    spdlog::info("stopped while {}", std::string(status.message()));
    ExitNow(kExitOk);
  }
  if (!status.ok()) {
    const std::string end = absl::StrCat("not drained: ", status.message());
    spdlog::error("{}", end);
    WriteReason(end, kExitDrainTimeout);
    WarnOfDriver(lifecycle, kExitSoon);
    ExitNow(kExitDrainTimeout);
  }
  if (!server.DeviceAnswers()) {  // what is freed would wait for it
    spdlog::warn(
        "stopped; the device's driver does not answer, so what is on the "
        "device is left to the end of the process");
    WarnOfDriver(lifecycle, kExitSoon);
    ExitNow(kExitOk);
  }
  return kExitOk;
}

// Completes how probe loads are started: as this process, on the device that
// it chose.
void CompleteProbe(int argc, char** argv, const Device* device,
                   ModelControlOptions& control) {
  if (!control.probe.has_value()) {
    return;
  }
  std::vector<std::string>& command = control.probe->command;
  command = {"/proc/self/exe"};
  command.insert(command.end(), argv + 1, argv + argc);
  if (device != nullptr) {
    command.push_back(absl::StrCat("--device=", device->choice().uuid));
  }
  command.push_back("--run-probe-load");
}

// Warns of ports that nothing outside the pod reaches, where there is one.
void WarnInPod(const ServerOptions& options, const Ports& ports) {
  if (std::getenv("KUBERNETES_SERVICE_HOST") == nullptr) {
    return;
  }
  std::vector<std::string> local;
  if (ports.grpc.is_local() &&
      !absl::StartsWith(options.grpc.address, "unix:")) {
    local.push_back(absl::StrCat("--grpc-address=", options.grpc.address));
  }
  if (ports.metrics.has_value() && ports.metrics->is_local()) {
    local.push_back(
        absl::StrCat("--metrics-address=", options.metrics.address));
  }
  if (!local.empty()) {
    spdlog::warn(
        "expected addresses that probes and Services reach, as the server is "
        "in a pod (KUBERNETES_SERVICE_HOST is set), got {}: choose 0.0.0.0 "
        "with TLS and tokens, or with --insecure, unless a container of the "
        "same pod passes calls on",
        absl::StrJoin(local, " and "));
  }
}

int Serve(int argc, char** argv, ServerOptions& options) {
  PrepareTorchEnvironment();  // before the first thread
  StopSignals signals;
  StartLog(options.log);
  ReportCrashes();
  spdlog::info("ferry-server {} {}", kVersion, DescribeOptions(options));
  if (!options.lifecycle.reason_file.empty()) {
    if (absl::Status status = OpenReasonFile(options.lifecycle.reason_file);
        !status.ok()) {
      return CannotStart(status);
    }
  }
  RaiseOpenFileLimit();
  BoundFreedMemory();
  auto ports = BindPorts(options);
  if (!ports.ok()) {
    return CannotStart(ports.status());
  }
  WarnInPod(options, *ports);
  TemporaryFolder::Sweep();  // what a server that was killed left
  RaisePriorities(options.lifecycle.priority);
  auto claimed = ClaimDevice(options.device.selector, VisibleDevices());
  if (!claimed.ok()) {
    return CannotStart(claimed.status());
  }
  const std::shared_ptr<Device> device = *std::move(claimed);
  if (absl::Status status = StartDevice(device.get(), options); !status.ok()) {
    return CannotStart(status);
  }
  CompleteProbe(argc, argv, device.get(), options.control);
  WarnOfSmallQueue(options);
  if (absl::Status status = OpenOpLibraries(options); !status.ok()) {
    return CannotStart(status);
  }
  std::optional<DeviceMetrics> device_metrics;
  if (device != nullptr) {
    device_metrics.emplace(device->library(), device->choice(),
                           [device] { return device->sampler().Read(); });
  }
  auto server =
      Server::Create(options, *std::move(ports),
                     device_metrics.has_value() ? &*device_metrics : nullptr);
  if (!server.ok()) {
    return CannotStart(server.status());
  }
  signals.ExpectStop();  // from its first request on, a stop is a drain
  if (absl::Status status = (*server)->Listen(); !status.ok()) {
    return CannotStart(status);
  }
  signals.OnStateWanted([&server] { LogState(**server); });
  LogReady(options, **server);
  ServiceNotice notice(std::getenv("NOTIFY_SOCKET"));
  const std::string why =
      WaitForStop(options.lifecycle, signals, notice, **server);
  const int code =
      DrainServer(options.lifecycle, why, signals, notice, **server);
  signals.OnStateWanted({});
  server->reset();
  // While an end that takes too long is still ended: what is left to free waits
  // for the driver.
  options.repository.device.reset();
  options.lifecycle.is_device_lost = nullptr;
  spdlog::info("stopped");
  return code;
}

// Runs what loads models but does not serve them, and has a descriptor of
// standard output for its result alone, or -1 where that is closed: what else
// is printed comes into the log.
int WithRepository(ServerOptions& options,
                   absl::FunctionRef<int(ModelRepository&, int)> run) {
  PrepareTorchEnvironment();  // before the first thread
  const int result_fd =
      fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  StartLog(options.log);
  const auto device = ClaimDevice(options.device.selector, VisibleDevices());
  if (!device.ok()) {
    return CannotStart(device.status());
  }
  if (absl::Status status = StartDevice(device->get(), options); !status.ok()) {
    return CannotStart(status);
  }
  if (absl::Status status = OpenOpLibraries(options); !status.ok()) {
    return CannotStart(status);
  }
  ModelRepository repository(options.repository);
  return run(repository, result_fd);
}

// Returns the exit code of what has no log.
int ExitCode(const absl::Status& status) {
  if (status.ok()) {
    return kExitOk;
  }
  std::fprintf(stderr, "ferry-server: %s\n",
               Printable(status.message()).c_str());
  return kExitCannotStart;
}

int Check(ServerOptions& options) {
  // Which addresses others reach is seen at a start alone.
  const auto keeper = Gatekeeper::Open(options.trust, {}, absl::Now());
  if (!keeper.ok()) {
    return ExitCode(keeper.status());
  }
  return WithRepository(
      options, [&](ModelRepository& repository, int result_fd) {
        const ConfigCheck check = CheckConfig(repository, options.control);
        FlushLog();  // what it logged stands before its result
        if (result_fd >= 0) {
          if (absl::Status status = Print(Printable(check.text), result_fd);
              !status.ok()) {
            spdlog::error("{}", std::string(status.message()));
            return kExitCannotStart;
          }
        }
        return check.is_good ? kExitOk : kExitCannotStart;
      });
}

int RunCommandLine(int argc, char** argv) {
  auto command_line = ParseCommandLine(argc, argv);
  if (!command_line.ok()) {
    return ExitCode(command_line.status());
  }
  if (command_line->action == CommandLine::Action::kPrint) {
    return ExitCode(Print(command_line->text, STDOUT_FILENO));
  }
  switch (command_line->action) {
    case CommandLine::Action::kCheck:
      return Check(command_line->options);
    case CommandLine::Action::kProbeLoad:
      DieWithServer();
      return WithRepository(command_line->options, RunProbeLoad);
    default:
      return Serve(argc, argv, command_line->options);
  }
}

}  // namespace
}  // namespace ferry

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const int code = ferry::RunCommandLine(argc, argv);
  ferry::FlushLog();
  return code;
}
