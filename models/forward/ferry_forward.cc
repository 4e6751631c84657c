// ferry-forward runs a model in a loop in this process, without a server:
// stage, compute, next. Its rate is the bound that a server of the model is
// measured against.
//
// It runs the same instances that ferry-server runs, from the same config: rows
// are gathered from single requests, cast, computed and copied out.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/event_count.h"
#include "base/printable_text.h"
#include "base/replaced_file.h"
#include "batcher/batch.h"
#include "flags/parse_flags.h"
#include "flags/value_checks.h"
#include "models/config/model_config.h"
#include "models/cuda_library.h"
#include "models/forward/forward_on_device.h"
#include "models/forward/forward_report.h"
#include "models/repository/embedded_models.h"
#include "models/repository/model_copies.h"
#include "models/repository/repository_folder.h"
#include "models/row_requests.h"
#include "models/synthetic_row.h"

namespace ferry {
namespace {

constexpr int64_t kAnySizeHere = 128;
constexpr int kMinRuns = 5;

struct Flags {
  std::string model = kDefaultEmbeddedModel;
  std::string model_dir;
  std::vector<int32_t> batches = {1, 2, 4, 8, 16, 32, 64};
  int32_t threads = 0;    // 0: the config's
  std::string precision;  // empty: the config's
  double seconds = 1;     // per batch size
  double pause_us = 0;    // between batches
  std::string device = "cpu";
  bool graphs = true;
  int32_t ahead = 2;
  std::string json_path;
};

struct LoadedModel {
  ModelConfig config;
  VersionFolder folder;
};

absl::StatusOr<LoadedModel> ReadModel(const Flags& flags) {
  if (flags.model_dir.empty()) {
    const char* const text = FindEmbeddedConfig(flags.model);
    if (text == nullptr) {
      return absl::NotFoundError(absl::StrCat("--model: expected one of ",
                                              kEmbeddedModelNames, ", got '",
                                              flags.model,
                                              "'; --model-dir takes a model's "
                                              "folder"));
    }
    absl::StatusOr<ModelConfig> config =
        ParseModelConfig(text, "embedded", flags.model);
    if (!config.ok()) {
      return config.status();
    }
    return LoadedModel{*std::move(config), {}};
  }
  std::string path = flags.model_dir;
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  absl::StatusOr<ModelConfig> config = ReadModelConfig(
      absl::StrCat(path, "/config.pbtxt"), path.substr(path.rfind('/') + 1));
  if (absl::IsNotFound(config.status())) {
    return absl::NotFoundError(
        absl::StrCat("--model-dir: expected one model's folder, with "
                     "config.pbtxt: ",
                     config.status().message()));
  }
  if (!config.ok()) {
    return config.status();
  }
  absl::StatusOr<std::vector<VersionFolder>> versions =
      ListVersions(path, config->options);
  if (!versions.ok()) {
    return versions.status();
  }
  return LoadedModel{*std::move(config), versions->back()};
}

double Ms(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Runs batches of `rows` single requests for that long, with that pause between
// them.
absl::StatusOr<Measurement> Measure(CpuModel& model, int32_t rows,
                                    const Flags& flags) {
  const Clock& clock = Clock::Steady();
  const Duration pause = Milliseconds(flags.pause_us / 1000);
  EventCount never_notified;
  UsePreciseTimers();
  const std::vector<RowInput> row = RandomRow(model.spec(), kAnySizeHere);
  const RowRequests requests(model.spec(), row, rows);
  const Batch& batch = requests.batch();
  RunTimes times;
  const TimePoint end = clock.Now() + Milliseconds(flags.seconds * 1000);
  for (int run = 0; run < kMinRuns || clock.Now() < end; ++run) {
    const TimePoint begin = clock.Now();
    Outcome outcome = model.Gather(batch);
    const TimePoint staged = clock.Now();
    OutputRef output;
    if (outcome.ok()) {
      outcome = model.Compute(batch, output);
    }
    const TimePoint computed = clock.Now();
    if (!outcome.ok()) {
      return absl::Status(outcome.code, outcome.text);
    }
    times.stage.push_back(Ms(staged - begin));
    times.compute.push_back(Ms(computed - staged));
    times.total.push_back(Ms(computed - begin));
    if (pause > Duration(0)) {
      never_notified.Wait(never_notified.PrepareWait(), clock.Now() + pause);
    }
  }
  return Summary(rows, times);
}

// On a device: what is copied in is the stage, and the total is the time from
// one batch's end to the next. Stage, compute and idle are the device's times.
absl::StatusOr<Measurement> MeasureOnDevice(DeviceModel& model, int32_t rows,
                                            const Flags& flags) {
  const std::vector<RowInput> row = RandomRow(model.spec(), kAnySizeHere);
  const RowRequests requests(model.spec(), row, rows);
  const auto all = RunOnDevice(model, requests.batch(),
                               {.time = Milliseconds(flags.seconds * 1000),
                                .min_runs = kMinRuns,
                                .ahead = flags.ahead});
  if (!all.ok()) {
    return all.status();
  }
  RunTimes times;
  for (size_t i = 0; i < all->interval.size(); ++i) {
    times.stage.push_back(Ms(all->device[i].copy_in));
    times.compute.push_back(Ms(all->device[i].compute));
    times.total.push_back(Ms(all->interval[i]));
  }
  for (const Duration idle : all->idle) {
    times.idle.push_back(Ms(idle));
  }
  return Summary(rows, times);
}

// Applies what the flags say against the config.
absl::Status ApplyFlags(const Flags& flags, ModelOptions& options) {
  const int32_t largest =
      *std::max_element(flags.batches.begin(), flags.batches.end());
  const bool is_embedded = flags.model_dir.empty();
  if (is_embedded) {
    options.spec.max_batch_size =
        std::max(options.spec.max_batch_size, largest);
  }
  if (largest > std::max(options.spec.max_batch_size, 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--batch: expected at most max_batch_size, ",
                     options.spec.max_batch_size, ", got ", largest));
  }
  options.instance_count = 1;
  if (flags.threads > 0) {
    options.threads = flags.threads;
  }
  if (!flags.precision.empty() &&
      options.backend == BackendKind::kAotInductor) {
    return absl::InvalidArgumentError(
        "--precision: a .pt2 file has the types it was compiled with");
  }
  if (flags.precision == PrecisionName(Precision::kNative) &&
      options.backend != BackendKind::kTorchScript) {
    return absl::InvalidArgumentError(
        "--precision: expected bf16 or fp32, native is of TorchScript");
  }
  options.precision =
      ParsePrecision(flags.precision).value_or(options.precision);
  return absl::OkStatus();
}

// Measures each of the batch sizes by `measure`.
template <typename Measure>
absl::StatusOr<std::vector<Measurement>> MeasureAll(const Flags& flags,
                                                    Measure&& measure) {
  std::vector<Measurement> all;
  for (const int32_t rows : flags.batches) {
    absl::StatusOr<Measurement> one = measure(rows);
    if (!one.ok()) {
      return one.status();
    }
    all.push_back(*one);
  }
  return all;
}

absl::StatusOr<std::vector<Measurement>> RunHere(const LoadedModel& model,
                                                 const Flags& flags) {
  LoadReport report;
  CpuModelsOrStatus instances =
      MakeCopies(model.config.options, model.folder.path, report);
  if (!instances.ok()) {
    return instances.status();
  }
  CpuModel& instance = *instances->front();
  if (absl::Status status = instance.WarmUp(); !status.ok()) {
    return status;
  }
  return MeasureAll(
      flags, [&](int32_t rows) { return Measure(instance, rows, flags); });
}

absl::StatusOr<std::vector<Measurement>> RunThere(LoadedModel& model,
                                                  const Flags& flags) {
  absl::StatusOr<OpenedCuda> cuda = OpenCuda(/*memory_share=*/1);
  if (!cuda.ok()) {
    return cuda.status();
  }
  ModelOptions& options = model.config.options;
  if (!RunsOnTorch(options.backend)) {
    return absl::InvalidArgumentError(
        "--device: expected a model that LibTorch runs");
  }
  options.use_graphs &= flags.graphs;
  if (options.spec.max_batch_size > 0) {
    const std::set<int32_t> sizes(flags.batches.begin(), flags.batches.end());
    options.buckets.assign(sizes.begin(), sizes.end());
    options.spec.max_batch_size = options.buckets.back();
  }
  LoadReport report;
  DeviceModelOrStatus there =
      MakeDeviceModel(options, model.folder.path, *cuda->device, report);
  if (!there.ok()) {
    return there.status();
  }
  if (absl::Status status = (*there)->WarmUp(); !status.ok()) {
    return status;
  }
  return MeasureAll(flags, [&](int32_t rows) {
    return MeasureOnDevice(**there, rows, flags);
  });
}

absl::Status RunForward(const Flags& flags) {
  absl::StatusOr<LoadedModel> model = ReadModel(flags);
  if (!model.ok()) {
    return model.status();
  }
  if (absl::Status status = ApplyFlags(flags, model->config.options);
      !status.ok()) {
    return status;
  }
  const absl::StatusOr<std::vector<Measurement>> all =
      flags.device == "cpu" ? RunHere(*model, flags) : RunThere(*model, flags);
  if (!all.ok()) {
    return all.status();
  }
  PrintTable(model->config.options, *all);
  if (!flags.json_path.empty()) {
    return ReplaceFile(flags.json_path,
                       ToJson(model->config.options, *all).dump(2) + "\n");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ferry

int main(int argc, char** argv) {
  ferry::PrepareTorchEnvironment();
  ferry::Flags flags;
  CLI::App app("Runs a model in a loop in this process, without a server.");
  app.add_option("--model", flags.model,
                 "embedded model: mlp, resnet50, encoder")
      ->capture_default_str();
  app.add_option("--model-dir", flags.model_dir,
                 "folder of one model, with config.pbtxt");
  app.add_option("--batch", flags.batches, "rows of a batch, one or more")
      ->delimiter(',')
      ->check(ferry::IntegerFrom(1, 65536))
      ->capture_default_str();
  app.add_option("--threads", flags.threads,
                 "threads inside an operator; 0: the config's")
      ->check(ferry::IntegerFrom(0, 1024))
      ->capture_default_str();
  app.add_option("--precision", flags.precision, "instead of the config's")
      ->check(ferry::OneOf({"bf16", "fp32", "native"}));
  app.add_option("--seconds", flags.seconds, "time for each batch size")
      ->check(ferry::NumberFrom(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--pause-us", flags.pause_us,
                 "sleep between batches, as an instance does whose only client "
                 "waits for its reply")
      ->check(ferry::NumberFrom(0.0, 1e6))
      ->capture_default_str();
  app.add_option(
         "--device", flags.device,
         "cpu, or cuda: the first device that CUDA shows; 'stage' is the "
         "copy in, 'idle' from one compute to the next")
      ->check(ferry::OneOf({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_flag("--graphs,!--no-graphs", flags.graphs,
               "with --device cuda: forwards as CUDA graphs");
  app.add_option("--ahead", flags.ahead,
                 "with --device cuda: batches under way; 1: each begins when "
                 "the one before was copied out")
      ->check(ferry::IntegerFrom(1, 2))
      ->capture_default_str();
  app.add_option("--json", flags.json_path, "file to write results to");
  try {
    ferry::ParseFlags(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return ferry::EndOfParsing("ferry-forward", app, error);
  }
  const absl::Status status = ferry::RunForward(flags);
  if (!status.ok()) {
    std::fprintf(stderr, "ferry-forward: %s\n",
                 ferry::PrintableText(status.message(), std::string::npos, "\n")
                     .c_str());
    return 1;
  }
  return 0;
}
