// Lanes by backend, then backend and batcher.
#include "models/model_loader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "batcher/host_backend.h"
#include "batcher/sim/echo_model.h"
#include "batcher/sim/simulated_model.h"
#include "models/config_completion.h"
#include "models/label_file.h"
#include "models/not_served.h"
#include "models/warm_up_data.h"

namespace ferry {
namespace {

constexpr char kDefaultScriptFile[] = "model.pt";
constexpr char kDefaultPackageFile[] = "model.pt2";

const char* Platform(BackendKind backend) {
  switch (backend) {
    case BackendKind::kAotInductor:
      return "torch_aoti";
    case BackendKind::kNetwork:
      return "ferry_network";
    case BackendKind::kSimulated:
      return "ferry_sim";
    case BackendKind::kEcho:
      return "ferry_echo";
    default:
      return "pytorch_libtorch";
  }
}

absl::StatusOr<std::unique_ptr<HostModel>> MakeSimulated(
    const ModelOptions& options) {
  if (options.backend == BackendKind::kEcho) {
    return EchoModel::Create(options.spec);
  }
  SimulatedModelOptions simulation = options.simulation;
  simulation.buckets = options.buckets;
  return SimulatedModel::Create(options.spec, simulation);
}

std::string FilePath(const ModelOptions& options, const std::string& folder) {
  if (!NeedsFile(options)) {
    return "";
  }
  std::string file = options.weights;
  if (IsPytorch(options.backend)) {
    file = options.file;
  }
  if (file.empty()) {
    file = options.backend == BackendKind::kTorchScript ? kDefaultScriptFile
                                                        : kDefaultPackageFile;
  }
  return absl::StrCat(folder, "/", file);
}

BatcherOptions MakeBatcherOptions(const ModelOptions& options,
                                  const ModelOverrides& overrides) {
  BatcherOptions result;
  result.max_batch_size = std::max(options.spec.max_batch_size, 1);
  if (options.batching == Batching::kOwnRowsOnly) {
    result.max_requests_per_batch = 1;
  }
  result.policy = options.policy;
  result.max_wait = options.max_wait;
  result.preserve_ordering = options.preserve_ordering;
  result.enough_rows = options.enough_rows;
  result.buckets = options.buckets;
  result.levels = options.levels;
  result.queue.requests =
      overrides.queue_requests.value_or(result.queue.requests);
  if (const int32_t max = options.levels[0].max_requests;
      options.levels.size() == 1 && max > 0) {
    result.queue.requests = std::min(result.queue.requests, max);
  }
  result.queue.bytes = overrides.queue_bytes.value_or(result.queue.bytes);
  return result;
}

absl::StatusOr<std::unique_ptr<Batcher>> MakeBatcher(
    std::vector<std::unique_ptr<HostModel>> lanes, const ModelOptions& options,
    const ModelOverrides& overrides, DeviceGate* gate) {
  HostBackendOptions backend_options;
  backend_options.slots_per_lane = options.slots_per_lane;
  backend_options.max_poll = std::chrono::microseconds(options.poll_us);
  backend_options.gate = gate;
  backend_options.weight = options.weight;
  if (options.preserve_ordering && std::ssize(lanes) > 1) {
    // A lane would deliver for all others while it is their turn.
    backend_options.max_inline_replies = 0;
    backend_options.max_inline_compute = Duration(0);
  }
  absl::StatusOr<std::unique_ptr<HostBackend>> backend =
      HostBackend::Create(std::move(lanes), backend_options);
  if (!backend.ok()) {
    return backend.status();
  }
  return Batcher::Create(*std::move(backend),
                         MakeBatcherOptions(options, overrides));
}

// Says of a file that is missing what lies there instead.
absl::Status WithOthersThere(const absl::Status& status,
                             const ModelOptions& options,
                             const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (options.backend == BackendKind::kTorchScript && options.file.empty() &&
        absl::EndsWith(name, ".pt2")) {
      return absl::NotFoundError(absl::StrCat(
          status.message(), ", but '", entry->path().string(),
          "' is there: write platform: \"torch_aoti\" into config.pbtxt"));
    }
    const absl::string_view advice = AdviceOnFile(name);
    if (!advice.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", entry->path().string(), "': ", advice));
    }
  }
  return status;
}

std::string WarmUpFolderOf(const std::string& version_path) {
  const std::filesystem::path folder(version_path);
  return (folder.parent_path() / kWarmUpFolder).string();
}

// Labels lie beside the version folders: all versions share them.
absl::Status ReadLabelFiles(const ModelOptions& options,
                            const std::string& version_path,
                            ServedModel& model) {
  for (const std::string& file : options.label_files) {
    absl::StatusOr<std::vector<std::string>> labels;
    if (file.empty()) {
      labels = std::vector<std::string>();
    } else {
      const std::filesystem::path folder(version_path);
      labels = ReadLabels((folder.parent_path() / file).string());
    }
    if (!labels.ok()) {
      return labels.status();
    }
    model.labels.push_back(*std::move(labels));
  }
  return absl::OkStatus();
}

}  // namespace

bool NeedsFile(const ModelOptions& options) {
  return IsPytorch(options.backend) || !options.weights.empty();
}

HostModelsOrStatus MakeLanes(const ModelOptions& options,
                             const std::string& folder) {
  if (IsPytorch(options.backend) || options.backend == BackendKind::kNetwork) {
    ModelOptions filled = options;
    if (absl::Status status =
            ReadWarmUpData(WarmUpFolderOf(folder), filled.warm_up);
        !status.ok()) {
      return status;
    }
    HostModelsOrStatus lanes =
        LoadTorchModels(filled, FilePath(options, folder));
    if (absl::IsNotFound(lanes.status())) {
      return WithOthersThere(lanes.status(), options, folder);
    }
    return lanes;
  }
  std::vector<std::unique_ptr<HostModel>> lanes;
  for (int32_t lane = 0; lane < options.instance_count; ++lane) {
    absl::StatusOr<std::unique_ptr<HostModel>> model = MakeSimulated(options);
    if (!model.ok()) {
      return model.status();
    }
    lanes.push_back(*std::move(model));
  }
  return lanes;
}

namespace {

absl::StatusOr<std::unique_ptr<ServedModel>> LoadAsConfigured(
    const ModelConfig& given, const ModelOverrides& overrides,
    const VersionFolder& folder, DeviceGate* gate) {
  const auto named = [&](const absl::Status& status) {
    return absl::Status(
        status.code(), absl::StrCat("model '", given.options.name, "' version ",
                                    folder.version, ": ", status.message()));
  };
  HostModelsOrStatus lanes = MakeLanes(given.options, folder.path);
  if (!lanes.ok()) {
    return named(lanes.status());
  }
  ModelConfig config = given;
  auto model = std::make_unique<ServedModel>();
  if (IsIncomplete(given.options)) {
    model->completed = CompleteConfig(lanes->front()->spec(), config);
  }
  const ModelOptions& options = config.options;
  const HostModel& lane = *lanes->front();
  absl::StatusOr<std::unique_ptr<Batcher>> batcher =
      MakeBatcher(*std::move(lanes), options, overrides, gate);
  if (!batcher.ok()) {
    return named(batcher.status());
  }
  model->name = options.name;
  model->version = folder.version;
  model->platform = Platform(options.backend);
  model->config = config.message;
  model->config.set_platform(model->platform);
  if (IsPytorch(options.backend)) {
    model->config.set_backend("pytorch");
  }
  model->spec = options.spec;
  if (absl::Status status = ReadLabelFiles(options, folder.path, *model);
      !status.ok()) {
    return status;
  }
  model->warm_up_failure = lane.warm_up_failure();
  model->is_simulated = options.backend == BackendKind::kSimulated;
  model->default_level = options.default_level;
  model->batcher = *std::move(batcher);
  return model;
}

// LibTorch's words where types do not agree.
constexpr absl::string_view kOfTypes[] = {
    "BFloat16",
    "Half",
    "Double",
    "dtype",
    "scalar type",
    "another type",
    "forward propagation primitive",
};

// Whether that is the failure of a script which may run in another precision:
// one that was frozen holds constants of fp32, one that casts by itself
// computes in several types.
bool IsOfPrecision(const ModelOptions& options, absl::string_view failure) {
  return options.backend == BackendKind::kTorchScript &&
         options.precision != Precision::kNative &&
         std::any_of(std::begin(kOfTypes), std::end(kOfTypes),
                     [&](absl::string_view words) {
                       return absl::StrContains(failure, words);
                     });
}

std::string FailureOf(
    const absl::StatusOr<std::unique_ptr<ServedModel>>& model) {
  if (model.ok()) {
    return (*model)->warm_up_failure;
  }
  return absl::IsInternal(model.status())
             ? std::string(model.status().message())
             : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServedModel>> LoadModel(
    const ModelConfig& given, const ModelOverrides& overrides,
    const VersionFolder& folder, DeviceGate* gate) {
  auto model = LoadAsConfigured(given, overrides, folder, gate);
  const std::string failure = FailureOf(model);
  if (!IsOfPrecision(given.options, failure)) {
    return model;
  }
  if (given.options.is_precision_chosen) {
    return model.ok()
               ? std::move(model)
               : absl::InternalError(absl::StrCat(
                     failure, "; its config asks for ferry.precision ",
                     PrecisionName(given.options.precision), ", it may run in ",
                     given.options.precision == Precision::kBf16 ? "fp32 or "
                                                                 : "",
                     "native"));
  }
  for (const Precision other : {Precision::kFp32, Precision::kNative}) {
    ModelConfig config = given;
    SetPrecision(other, config);
    auto in_other = LoadAsConfigured(config, overrides, folder, gate);
    if (in_other.ok() && (*in_other)->warm_up_failure.empty()) {
      (*in_other)->why_not_bf16 = failure;
      return in_other;
    }
  }
  return model;
}

}  // namespace ferry
