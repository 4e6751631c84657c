// Which models are loaded from where, and how they are found.
#include "models/model_repository.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "models/embedded_models.h"
#include "models/model_config.h"
#include "models/model_loader.h"
#include "models/repository_folder.h"

namespace ferry {
namespace {

using LoadedModels = std::vector<std::unique_ptr<ServedModel>>;

absl::Status LoadEmbedded(const std::string& name,
                          const ModelOverrides& overrides, DeviceGate* gate,
                          LoadedModels& loaded) {
  const char* const text = FindEmbeddedConfig(name);
  if (text == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "model '", name, "': expected an embedded model (", kEmbeddedModelNames,
        ") where no model repository is "
        "given"));
  }
  absl::StatusOr<ModelConfig> config =
      ParseModelConfig(text, absl::StrCat("embedded ", name), name);
  if (!config.ok()) {
    return config.status();
  }
  if (absl::Status status =
          ApplyOverrides(overrides, ConfigOrigin::kEmbedded, *config);
      !status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<ServedModel>> model =
      LoadModel(*config, overrides, VersionFolder(), gate);
  if (model.ok()) {
    loaded.push_back(*std::move(model));
  }
  return model.status();
}

absl::Status LoadFromFolder(const std::string& path, const std::string& name,
                            const ModelOverrides& overrides, DeviceGate* gate,
                            LoadedModels& loaded) {
  if (absl::Status status = CheckModelName(name); !status.ok()) {
    return status;
  }
  const std::string model_path = absl::StrCat(path, "/", name);
  absl::StatusOr<ModelConfig> config =
      ReadModelConfig(absl::StrCat(model_path, "/config.pbtxt"), name);
  if (!config.ok()) {
    return config.status();
  }
  if (absl::Status status =
          ApplyOverrides(overrides, ConfigOrigin::kFolder, *config);
      !status.ok()) {
    return status;
  }
  absl::StatusOr<std::vector<VersionFolder>> versions =
      ListVersions(model_path, config->options);
  if (!versions.ok()) {
    return versions.status();
  }
  for (const VersionFolder& version : *versions) {
    absl::StatusOr<std::unique_ptr<ServedModel>> model =
        LoadModel(*config, overrides, version, gate);
    if (!model.ok()) {
      return model.status();
    }
    loaded.push_back(*std::move(model));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> NamesToLoad(
    const ModelRepositoryOptions& options) {
  if (!options.load_models.empty()) {
    std::vector<std::string> names = options.load_models;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }
  if (options.path.empty()) {
    return std::vector<std::string>{kDefaultEmbeddedModel};
  }
  absl::StatusOr<std::vector<std::string>> names = ListModels(options.path);
  if (names.ok() && names->empty()) {
    return absl::NotFoundError(
        absl::StrCat("model repository: '", options.path,
                     "' holds no model; expected <name>/config.pbtxt"));
  }
  return names;
}

int32_t DeviceLanes(const ModelRepositoryOptions& options) {
  const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  return options.device_lanes > 0 ? options.device_lanes : std::max(cores, 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelRepository>> ModelRepository::Create(
    const ModelRepositoryOptions& options) {
  absl::StatusOr<std::vector<std::string>> names = NamesToLoad(options);
  if (!names.ok()) {
    return names.status();
  }
  std::unique_ptr<ModelRepository> repository(
      new ModelRepository(DeviceLanes(options)));
  DeviceGate* const gate = names->size() > 1 ? &repository->gate_ : nullptr;
  LoadedModels loaded;
  for (const std::string& name : *names) {
    const absl::Status status =
        options.path.empty()
            ? LoadEmbedded(name, options.overrides, gate, loaded)
            : LoadFromFolder(options.path, name, options.overrides, gate,
                             loaded);
    if (!status.ok()) {
      return status;
    }
  }
  for (std::unique_ptr<ServedModel>& model : loaded) {
    // Kept apart: the index is taken before the pointer is given away.
    auto& versions = repository->models_[model->name];
    const int64_t version = model->version;
    versions[version] = std::move(model);
  }
  return repository;
}

absl::StatusOr<const ServedModel*> ModelRepository::Find(
    const std::string& name, const std::string& version) const {
  const auto versions = models_.find(name);
  if (versions == models_.end()) {
    return absl::NotFoundError(
        absl::StrCat("Request for unknown model: '", name, "' is not found"));
  }
  if (version.empty()) {
    return versions->second.rbegin()->second.get();
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(version, &number) || number < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model version: expected an integer from 1, got '", version, "'"));
  }
  const auto found = versions->second.find(number);
  if (found == versions->second.end()) {
    return absl::NotFoundError(absl::StrCat("Request for unknown model: '",
                                            name, "' version ", number,
                                            " is not found"));
  }
  return found->second.get();
}

std::vector<const ServedModel*> ModelRepository::models() const {
  std::vector<const ServedModel*> all;
  for (const auto& [name, versions] : models_) {
    for (const auto& [version, model] : versions) {
      all.push_back(model.get());
    }
  }
  return all;
}

void ModelRepository::BeginDrain() {
  for (const auto& [name, versions] : models_) {
    for (const auto& [version, model] : versions) {
      model->batcher->BeginDrain();
    }
  }
}

absl::Status ModelRepository::Drain(TimePoint until) {
  BeginDrain();
  absl::Status status;
  for (const auto& [name, versions] : models_) {
    for (const auto& [version, model] : versions) {
      status.Update(model->batcher->Drain(until));
    }
  }
  return status;
}

}  // namespace ferry
