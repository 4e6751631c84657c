// Implements AddInProcessFlags() and Complete(): turns flags into options.
#include "bench/inprocess/inprocess_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "models/config/override_flags.h"

namespace ferry::bench {
namespace {

void AddModelFlags(CLI::App& app, InProcessFlags& flags) {
  app.option_defaults()->group("Model");
  app.add_option("--model-repository", flags.repository.path,
                 "folder of models; none: the embedded models mlp, resnet50 "
                 "and encoder")
      ->check([](const std::string& path) {
        return std::string(path.empty() ? "expected a folder, got nothing"
                                        : "");
      })
      ->type_name("DIR");
  app.add_option("-m,--model", flags.options().model, "model of it")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--device", flags.device, "what it runs on, as ferry-server's")
      ->type_name("cpu|only|cuda:N|GPU-UUID|MIG-UUID")
      ->capture_default_str();
  AddOverrideFlags(app, flags.repository.overrides);
}

absl::Status CompleteLoads(InProcessFlags& flags) {
  if (flags.is_search) {
    flags.search.slo_ms = flags.options().slo_ms;
    return Complete(flags.search);
  }
  auto completed = CompleteRunOptions(flags.options());
  if (completed.ok()) {
    flags.options() = *std::move(completed);
  }
  return completed.status();
}

}  // namespace

void AddInProcessFlags(CLI::App& app, InProcessFlags& flags) {
  AddModelFlags(app, flags);
  AddContentFlags(app, flags.options());
  AddTimeoutFlag(app, flags.options());
  AddWindowFlags(app, flags.options());
  AddLoadFlags(app, flags.options());
  AddReportFlags(app, flags.options());
  AddGoodputFlag(app, flags.options());
  app.option_defaults()->group("Search");
  app.add_flag("--search", flags.is_search,
               "instead of these loads, find the highest rate that keeps "
               "--slo-ms, as ferry-bench search does")
      ->needs("--slo-ms")
      ->excludes("--rates")
      ->excludes("--loads")
      ->excludes("--outstanding")
      ->excludes("--scenario");
  AddSearchStepFlags(app, flags.search);
}

absl::Status Complete(InProcessFlags& flags) {
  const auto selector = nvml::ParseDevice(flags.device);
  if (!selector.ok()) {
    return selector.status();
  }
  flags.selector = *selector;
  return CompleteLoads(flags);
}

void PlanOfflineRun(int32_t max_batch_size, int32_t instances,
                    RunOptions& options) {
  if (options.offline.samples > 0) {
    options.sweep.offline =
        PlanOffline(options.offline, max_batch_size, instances);
    options.requests.rows = options.sweep.offline->rows;
  }
}

}  // namespace ferry::bench
