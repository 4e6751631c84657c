// Lanes by backend, then backend and batcher.
#include "models/model_loader.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "batcher/host_backend.h"
#include "batcher/sim/echo_model.h"
#include "batcher/sim/simulated_model.h"
#include "models/label_file.h"

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
  return SimulatedModel::Create(options.spec, options.simulation);
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
    const ModelOptions& options, const ModelOverrides& overrides,
    const std::string& folder, DeviceGate* gate) {
  HostModelsOrStatus lanes = MakeLanes(options, folder);
  if (!lanes.ok()) {
    return lanes.status();
  }
  HostBackendOptions backend_options;
  backend_options.slots_per_lane = options.slots_per_lane;
  backend_options.gate = gate;
  backend_options.weight = options.weight;
  if (options.preserve_ordering && std::ssize(*lanes) > 1) {
    // A lane would deliver for all others while it is their turn.
    backend_options.max_inline_replies = 0;
    backend_options.max_inline_compute = Duration(0);
  }
  absl::StatusOr<std::unique_ptr<HostBackend>> backend =
      HostBackend::Create(*std::move(lanes), backend_options);
  if (!backend.ok()) {
    return backend.status();
  }
  return Batcher::Create(*std::move(backend),
                         MakeBatcherOptions(options, overrides));
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
    return LoadTorchModels(options, FilePath(options, folder));
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

absl::StatusOr<std::unique_ptr<ServedModel>> LoadModel(
    const ModelConfig& config, const ModelOverrides& overrides,
    const VersionFolder& folder, DeviceGate* gate) {
  const ModelOptions& options = config.options;
  absl::StatusOr<std::unique_ptr<Batcher>> batcher =
      MakeBatcher(options, overrides, folder.path, gate);
  if (!batcher.ok()) {
    return absl::Status(
        batcher.status().code(),
        absl::StrCat("model '", options.name, "' version ", folder.version,
                     ": ", batcher.status().message()));
  }
  auto model = std::make_unique<ServedModel>();
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
  model->is_simulated = options.backend == BackendKind::kSimulated;
  model->default_level = options.default_level;
  model->batcher = *std::move(batcher);
  return model;
}

}  // namespace ferry
