// Reading what is there, of a folder or embedded.
#include "models/model_repository.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/embedded_models.h"
#include "models/repository_folder.h"

namespace ferry {
namespace {

int32_t DeviceLanes(const ModelRepositoryOptions& options) {
  const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  return options.device_lanes > 0 ? options.device_lanes : std::max(cores, 1);
}

// Bytes that are the same for messages that are: SerializeAsString() writes
// maps in any order.
std::string SerializedAlike(const inference::ModelConfig& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

bool HasLabels(const ModelOptions& options) {
  return std::any_of(options.label_files.begin(), options.label_files.end(),
                     [](const std::string& file) { return !file.empty(); });
}

}  // namespace

std::string ModelPlan::Fingerprint() const {
  std::string all;
  for (const auto& [number, version] : versions) {
    absl::StrAppend(&all, number, "\n", version.fingerprint);
  }
  return all;
}

ModelRepository::ModelRepository(const ModelRepositoryOptions& options)
    : options_(options), gate_(DeviceLanes(options)) {}

absl::StatusOr<std::vector<std::string>> ModelRepository::Names() const {
  return options_.path.empty() ? EmbeddedModelNames()
                               : ListModels(options_.path);
}

bool ModelRepository::Has(const std::string& name) const {
  const absl::StatusOr<std::vector<std::string>> names = Names();
  return names.ok() &&
         std::find(names->begin(), names->end(), name) != names->end();
}

absl::StatusOr<std::vector<std::string>> ModelRepository::DefaultNames() const {
  if (options_.path.empty()) {
    return std::vector<std::string>{kDefaultEmbeddedModel};
  }
  absl::StatusOr<std::vector<std::string>> names = Names();
  if (names.ok() && names->empty()) {
    return absl::NotFoundError(
        absl::StrCat("model repository: '", options_.path,
                     "' holds no model; expected <name>/config.pbtxt"));
  }
  return names;
}

absl::StatusOr<ModelConfig> ModelRepository::ReadConfig(
    const std::string& name, const std::string& config_json) const {
  if (!options_.path.empty()) {
    return config_json.empty()
               ? ReadModelConfig(
                     absl::StrCat(options_.path, "/", name, "/config.pbtxt"),
                     name)
               : ParseModelConfigJson(config_json, name);
  }
  const char* const text = FindEmbeddedConfig(name);
  if (text == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "model '", name, "': expected an embedded model (", kEmbeddedModelNames,
        ") where no model repository is given"));
  }
  absl::StatusOr<ModelConfig> config =
      config_json.empty()
          ? ParseModelConfig(text, absl::StrCat("embedded ", name), name)
          : ParseModelConfigJson(config_json, name);
  if (config.ok() &&
      (NeedsFile(config->options) || HasLabels(config->options))) {
    return absl::InvalidArgumentError(
        absl::StrCat("model '", name,
                     "': expected a model without files where no model "
                     "repository is given"));
  }
  return config;
}

absl::StatusOr<ModelPlan> ModelRepository::Plan(
    const std::string& name, const std::string& config_json) const {
  absl::Status status = CheckModelName(name);
  if (status.ok() && !options_.path.empty()) {
    status = CheckInside(options_.path, name);
  }
  if (!status.ok()) {
    return status;
  }
  absl::StatusOr<ModelConfig> config = ReadConfig(name, config_json);
  if (!config.ok()) {
    return config.status();
  }
  status = ApplyOverrides(
      options_.overrides,
      options_.path.empty() ? ConfigOrigin::kEmbedded : ConfigOrigin::kFolder,
      *config);
  if (!status.ok()) {
    return status;
  }
  std::vector<VersionFolder> folders = {VersionFolder()};
  if (!options_.path.empty()) {
    absl::StatusOr<std::vector<VersionFolder>> listed =
        ListVersions(absl::StrCat(options_.path, "/", name), config->options);
    if (!listed.ok()) {
      return listed.status();
    }
    folders = *std::move(listed);
    for (const VersionFolder& folder : folders) {
      status.Update(CheckFilesInside(options_.path, folder));
    }
    if (!status.ok()) {
      return status;
    }
  }
  ModelPlan plan;
  const std::string text = SerializedAlike(config->message);
  for (VersionFolder& folder : folders) {
    const int64_t version = folder.version;
    std::string fingerprint = absl::StrCat(FingerprintOf(folder), text);
    plan.versions[version] = {.folder = std::move(folder),
                              .fingerprint = std::move(fingerprint)};
  }
  plan.config = *std::move(config);
  return plan;
}

absl::StatusOr<std::unique_ptr<ServedModel>> ModelRepository::Load(
    const ModelPlan& plan, int64_t version, DeviceUse use) {
  return LoadModel(plan.config, options_.overrides,
                   plan.versions.at(version).folder,
                   use == DeviceUse::kShared ? &gate_ : nullptr);
}

}  // namespace ferry
