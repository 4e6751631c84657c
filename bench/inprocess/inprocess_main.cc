// ferry-inprocess puts loads on a model in this process, through Ferry's
// scheduler, without gRPC. It shows what the scheduler makes of what
// ferry-forward says the model can do, and what a served model is measured
// against.
//
// A program of its own and no target of `ferry-bench local`: what runs models
// links tcmalloc, as ferry-forward does (docs/decisions/0013-allocator.md), and
// ferry-bench measures others and is to stay as it is. LibTorch and CUDA are
// opened at run time, as by ferry-server, whose way to a model it takes.
//
// Errors: exit code 1 with one line on stderr: wrong flags, no such model or
// device, no request that succeeded, no rate that was found; 2 where a
// condition of --fail-if holds, 3 where the device is lost, 130 after Ctrl-C.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/event_count.h"
#include "bench/commands/command_report.h"
#include "bench/commands/measured_loads.h"
#include "bench/commands/search_flags.h"
#include "bench/commands/signal_watcher.h"
#include "bench/device/device_means.h"
#include "bench/device/nvml_device.h"
#include "bench/inprocess/inprocess_flags.h"
#include "bench/inprocess/loaded_model.h"
#include "bench/inprocess/model_requests.h"
#include "bench/local/batcher_target.h"
#include "flags/parse_flags.h"
#include "models/start_cuda.h"
#include "models/torch_library.h"

namespace ferry::bench {
namespace {

// What models and devices log, beside what this program prints.
void LogToStderr() {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "ferry-inprocess", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_pattern("%l: %v");
}

std::optional<std::string> VisibleDevices() {
  const char* const visible = std::getenv(kVisibleDevices);
  return visible == nullptr ? std::nullopt
                            : std::optional<std::string>(visible);
}

// Exit code, as ferry-server's, and what is said of a device that is gone: what
// was measured says nothing then.
constexpr int kDeviceLost = 3;

// The device, and the source of its readings; all null on the processor.
struct OpenedDevice {
  std::shared_ptr<DeviceRuntime> runtime;
  std::unique_ptr<DeviceSource> told;
  std::function<bool()> is_lost;
};

// REQUIRES: no thread was started.
absl::StatusOr<OpenedDevice> OpenDevice(const nvml::DeviceSelector& selector) {
  OpenedDevice opened;
  const auto device = ClaimDevice(selector, VisibleDevices());
  if (!device.ok() || *device == nullptr) {
    return device.ok() ? absl::StatusOr<OpenedDevice>(std::move(opened))
                       : device.status();
  }
  const auto cuda = StartCuda(**device);
  if (!cuda.ok()) {
    return cuda.status();
  }
  opened.runtime = cuda->device;
  opened.is_lost = cuda->is_lost;
  auto told = NvmlDevice::Open((*device)->choice().uuid);
  if (!told.ok()) {
    return absl::Status(told.status().code(),
                        absl::StrCat("--device: ", told.status().message()));
  }
  opened.told = *std::move(told);
  return opened;
}

RunResult DescribeRun(const RunOptions& options,
                      const std::string& command_line, const ServedModel& model,
                      const RequestInputs& first, DeviceSource* device) {
  RunResult run = DescribeClient(options, command_line);
  run.server_name = "in this process";
  run.model = model.name;
  run.platform = model.platform;
  run.max_batch_size = model.spec.max_batch_size;
  run.is_simulated = model.is_simulated;
  run.rows_per_request = first.rows;
  run.request_bytes = first.bytes;
  run.data = options.requests.data;
  if (device != nullptr) {
    if (const auto reading = device->Read(); reading.has_value()) {
      run.environment.device = FactsOf(*reading);
    }
  }
  return run;
}

// What Ctrl-C does while there is nothing to report yet: a model may take
// minutes to load, and its first answer for ever.
void EndBeforeLoads() {
  std::_Exit(TellInterruption("interrupted before the first load"));
}

int Measure(InProcessFlags flags, const std::string& command_line,
            const OpenedDevice& opened) {
  auto watcher = std::make_unique<SignalWatcher>(EndBeforeLoads);
  flags.repository.device = opened.runtime;
  auto loaded = LoadNamedModel(flags.repository, flags.options().model);
  if (!loaded.ok()) {
    return Fail(loaded.status());
  }
  const ServedModel& model = *loaded->model;
  if (!model.warm_up_failure.empty()) {
    spdlog::warn("model '{}' did not run in warm-up: {}", model.name,
                 model.warm_up_failure);
  }
  const BatcherCounters counters(*model.scheduler, opened.told.get());
  PlanOfflineRun(model.spec.max_batch_size, counters.instances(),
                 flags.options());
  const RunOptions& options = flags.options();
  const auto requests = ModelRequests::Make(model, options.requests);
  if (!requests.ok()) {
    return Fail(requests.status());
  }
  const RequestInputs& first = (*requests)->inputs().front();
  if (const auto answered = CheckFirstAnswer(*model.scheduler, first);
      !answered.ok()) {
    return Fail(WithAdvice(answered, (*requests)->advice()));
  }
  watcher.reset();  // loads have their own
  RunResult run =
      DescribeRun(options, command_line, model, first, opened.told.get());
  run.content_advice = (*requests)->advice();
  BatcherTarget target(std::move(loaded->model->scheduler),
                       (*requests)->inputs(),
                       {.timeout = Milliseconds(options.timeout_ms),
                        .level = model.default_level});
  if (flags.is_search) {
    return ReportSearch(
        flags.search,
        {.make_loads = [&]() -> absl::StatusOr<std::unique_ptr<LoadSource>> {
           return std::make_unique<OwnLoads>(target, options.sweep.arrivals);
         },
         .counters = &counters,
         .instances = counters.instances()},
        std::move(run));
  }
  Sweep sweep(options.sweep, target, &counters, counters.instances());
  return ReportLoads(options, sweep, std::move(run));
}

int Run(const InProcessFlags& flags, const std::string& command_line) {
  const auto opened = OpenDevice(flags.selector);
  if (!opened.ok()) {
    return Fail(opened.status());
  }
  const int code = Measure(flags, command_line, *opened);
  if (opened->is_lost && opened->is_lost()) {
    Fail(absl::UnavailableError("the device is lost"));
    return kDeviceLost;
  }
  return code;
}

}  // namespace
}  // namespace ferry::bench

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // in its order with stderr
  ferry::PrepareTorchEnvironment();          // before the first thread
  ferry::UsePreciseTimers();  // inherited by every thread started later
  ferry::bench::BlockSignals();
  ferry::bench::LogToStderr();

  std::string command_line = "ferry-inprocess";
  for (int i = 1; i < argc; ++i) {
    absl::StrAppend(&command_line, " ", argv[i]);
  }
  CLI::App app{
      "ferry-inprocess puts loads on a model in this process, through Ferry's "
      "scheduler, without gRPC"};
  app.set_version_flag("--version", "ferry-inprocess " FERRY_VERSION);
  ferry::bench::InProcessFlags flags;
  ferry::bench::AddInProcessFlags(app, flags);
  try {
    ferry::ParseFlags(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return ferry::EndOfParsing("ferry-inprocess", app, error);
  }
  flags.options().flags = ferry::bench::EffectiveFlags(app);
  if (const absl::Status status = ferry::bench::Complete(flags); !status.ok()) {
    return ferry::bench::Fail(status);
  }
  return ferry::bench::Run(flags, command_line);
}
