// Implements ModelRepository: reads a folder, flags or the embedded configs.
#include "models/repository/model_repository.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/printable_text.h"
#include "base/processor_count.h"
#include "models/config/config_completion.h"
#include "models/repository/checked_copy.h"
#include "models/repository/embedded_models.h"

namespace ferry {
namespace {

constexpr size_t kMaxReasonBytes = 4096;

// A device with streams has one batch that computes and one that is ready.
constexpr int32_t kStreamInstances = 2;

int32_t DeviceInstances(const ModelRepositoryOptions& options) {
  if (options.device != nullptr) {
    return options.device_instances > 0 ? options.device_instances
                                        : kStreamInstances;
  }
  return options.device_instances > 0 ? options.device_instances
                                      : ProcessorCount();
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

// Returns the text with paths that begin with `path` beginning after it, and
// without those that are it.
std::string WithoutPath(absl::string_view text, absl::string_view path) {
  constexpr absl::string_view kBeforePaths = "'\" \n(";
  std::string without;
  for (size_t at = text.find(path); at != text.npos; at = text.find(path)) {
    const bool begins =
        at == 0
            ? without.empty() || absl::StrContains(kBeforePaths, without.back())
            : absl::StrContains(kBeforePaths, text[at - 1]);
    const absl::string_view rest = text.substr(at + path.size());
    absl::StrAppend(&without, text.substr(0, at));
    if (begins && absl::StartsWith(rest, "/")) {
      text = rest.substr(std::min(rest.find_first_not_of('/'), rest.size()));
    } else if (begins && absl::StartsWith(rest, "'") &&
               absl::EndsWith(without, " '")) {
      without.resize(without.size() - 2);
      text = rest.substr(1);
    } else {
      absl::StrAppend(&without, path);
      text = rest;
    }
  }
  return absl::StrCat(without, text);
}

// "models/" is "models", so that paths in it are not "models//m".
ModelRepositoryOptions WithoutSlashes(ModelRepositoryOptions options) {
  while (options.path.size() > 1 && options.path.back() == '/') {
    options.path.pop_back();
  }
  return options;
}

bool HasLabels(const ModelOptions& options) {
  return std::any_of(options.label_files.begin(), options.label_files.end(),
                     [](const std::string& file) { return !file.empty(); });
}

bool HasWarmUpFiles(const ModelOptions& options) {
  for (const WarmUpSample& sample : options.warm_up) {
    for (const auto& [name, input] : sample.inputs) {
      if (input.data == WarmUpSample::Data::kFile) {
        return true;
      }
    }
  }
  return false;
}

absl::Status WithoutFiles(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "model '", name,
      "': expected a model without files where no model repository is given"));
}

// Refuses a config that names files of a model's folder.
absl::StatusOr<ModelConfig> WithoutFolder(absl::StatusOr<ModelConfig> config) {
  return config.ok() &&
                 (HasLabels(config->options) || HasWarmUpFiles(config->options))
             ? WithoutFiles(config->options.name)
             : std::move(config);
}

absl::Status Named(const ModelPlan& plan, const VersionFolder& folder,
                   const absl::Status& status) {
  return absl::Status(
      status.code(),
      absl::StrCat("model '", plan.config.options.name, "' version ",
                   folder.version, ": ", status.message()));
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
    : options_(WithoutSlashes(options)), share_(DeviceInstances(options)) {}

absl::StatusOr<RepositoryNames> ModelRepository::List() const {
  if (options_.single.has_value()) {
    return RepositoryNames{.models = {options_.single->name}};
  }
  if (options_.path.empty()) {
    return RepositoryNames{.models = EmbeddedModelNames()};
  }
  return ListModels(options_.path);
}

absl::StatusOr<std::vector<std::string>> ModelRepository::Names() const {
  absl::StatusOr<RepositoryNames> found = List();
  if (!found.ok()) {
    return found.status();
  }
  return std::move(found->models);
}

bool ModelRepository::Has(const std::string& name) const {
  const absl::StatusOr<std::vector<std::string>> names = Names();
  return names.ok() &&
         std::find(names->begin(), names->end(), name) != names->end();
}

absl::StatusOr<std::vector<std::string>> ModelRepository::DefaultNames() const {
  if (options_.path.empty() && !options_.single.has_value()) {
    return std::vector<std::string>{kDefaultEmbeddedModel};
  }
  absl::StatusOr<RepositoryNames> names = List();
  if (!names.ok()) {
    return names.status();
  }
  if (names->models.empty()) {
    std::string text =
        absl::StrCat("model repository: '", options_.path,
                     "' holds no model; expected <name>/<version>/model.pt, or "
                     "<name>/config.pbtxt of a model without a file",
                     HintOnLayout(options_.path));
    if (!names->passed_over.empty()) {  // as for example
      absl::StrAppend(&text, "; ", names->passed_over.begin()->second);
    }
    return absl::NotFoundError(text);
  }
  return std::move(names->models);
}

ConfigOrigin ModelRepository::origin() const {
  return !options_.path.empty()        ? ConfigOrigin::kFolder
         : options_.single.has_value() ? ConfigOrigin::kFlags
                                       : ConfigOrigin::kEmbedded;
}

absl::StatusOr<ModelConfig> ModelRepository::ReadConfig(
    const std::string& name, const std::string& config_json,
    std::optional<std::string>& text) const {
  switch (origin()) {
    case ConfigOrigin::kFolder:
      return config_json.empty() ? ReadFolderConfig(name, text)
                                 : ParseModelConfigJson(config_json, name);
    case ConfigOrigin::kFlags:
      return ReadSingleConfig(name, config_json);
    default:
      return ReadEmbeddedConfig(name, config_json);
  }
}

// A config that is missing says nothing.
absl::StatusOr<ModelConfig> ModelRepository::ReadFolderConfig(
    const std::string& name, std::optional<std::string>& text) const {
  const std::string path =
      absl::StrCat(options_.path, "/", name, "/", kConfigFile);
  std::error_code error;
  absl::Status status = CheckPathInside(options_.path, path);
  if (!status.ok()) {
    return status;
  }
  const bool is_missing =
      !std::filesystem::exists(std::filesystem::symlink_status(path, error));
  if (is_missing && options_.completion == ConfigCompletion::kOn) {
    text = "";
    return ParseModelConfig("", path, name);
  }
  absl::StatusOr<std::string> read = ReadModelConfigText(path);
  if (absl::IsNotFound(read.status())) {
    return absl::NotFoundError(
        absl::StrCat(read.status().message(), kEachFolderIsAModel));
  }
  if (!read.ok()) {
    return read.status();
  }
  text = *std::move(read);
  return ParseModelConfig(*text, path, name);
}

absl::StatusOr<ModelConfig> ModelRepository::ReadSingleConfig(
    const std::string& name, const std::string& config_json) const {
  const SingleModel& single = *options_.single;
  if (name != single.name) {
    return absl::NotFoundError(absl::StrCat("model '", name, "': expected '",
                                            single.name,
                                            "', the one that --model names"));
  }
  if (absl::Status status = CheckModelFile(single.path); !status.ok()) {
    return status;
  }
  absl::StatusOr<ModelConfig> config =
      config_json.empty()
          ? CheckModelConfig(single.config, "--input and --output", name)
          : ParseModelConfigJson(config_json, name);
  if (config.ok()) {
    config->options.file = single.config.default_model_filename();
  }
  return WithoutFolder(std::move(config));
}

absl::StatusOr<ModelConfig> ModelRepository::ReadEmbeddedConfig(
    const std::string& name, const std::string& config_json) const {
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
  if (config.ok() && NeedsFile(config->options)) {
    return WithoutFiles(name);
  }
  return WithoutFolder(std::move(config));
}

absl::StatusOr<std::vector<VersionFolder>> ModelRepository::Versions(
    const std::string& name, const ModelOptions& options) const {
  if (options_.single.has_value()) {
    const auto folder =
        std::filesystem::absolute(options_.single->path).parent_path();
    return std::vector<VersionFolder>{{1, folder.string()}};
  }
  if (options_.path.empty()) {
    return std::vector<VersionFolder>{VersionFolder()};
  }
  absl::StatusOr<std::vector<VersionFolder>> folders =
      ListVersions(absl::StrCat(options_.path, "/", name), options);
  for (size_t i = 0; folders.ok() && i < folders->size(); ++i) {
    if (absl::Status status = CheckFilesInside(options_.path, (*folders)[i]);
        !status.ok()) {
      return status;
    }
  }
  return folders;
}

// What a config says is known by its message. Its bytes are in a manifest, and
// a load that failed by them is tried again when they change.
std::string ModelRepository::Fingerprint(const std::string& name,
                                         const VersionFolder& folder) const {
  if (options_.single.has_value()) {
    return FingerprintOf(options_.single->path);
  }
  const bool is_checked = !options_.path.empty() &&
                          options_.manifests.use == ManifestUse::kRequired;
  return absl::StrCat(FingerprintOf(folder),
                      is_checked
                          ? FingerprintOf(absl::StrCat(options_.path, "/", name,
                                                       "/", kConfigFile))
                          : "");
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
  ModelPlan plan;
  absl::StatusOr<ModelConfig> config =
      ReadConfig(name, config_json, plan.config_text);
  if (!config.ok()) {
    return config.status();
  }
  if (options_.completion == ConfigCompletion::kOff &&
      IsIncomplete(config->options)) {
    return absl::InvalidArgumentError(
        absl::StrCat("model '", name,
                     "': the config has no input or no output, and with "
                     "--disable-auto-complete-config it must say both"));
  }
  status = ApplyOverrides(options_.overrides, origin(), *config);
  if (!status.ok()) {
    return status;
  }
  absl::StatusOr<std::vector<VersionFolder>> folders =
      Versions(name, config->options);
  if (!folders.ok()) {
    return absl::Status(
        folders.status().code(),
        absl::StrCat("model '", name, "': ", folders.status().message()));
  }
  const std::string text = SerializedAlike(config->message);
  for (VersionFolder& folder : *folders) {
    const int64_t version = folder.version;
    std::string fingerprint = absl::StrCat(Fingerprint(name, folder), text);
    plan.versions[version] = {.folder = std::move(folder),
                              .fingerprint = std::move(fingerprint)};
  }
  plan.config = *std::move(config);
  return plan;
}

absl::Status ModelRepository::WithHint(const std::string& name,
                                       const absl::Status& status) const {
  if (!absl::IsNotFound(status) || options_.path.empty()) {
    return status;
  }
  std::string hint = HintOnLayout(options_.path);
  const absl::StatusOr<std::vector<std::string>> names = Names();
  if (hint.empty() && names.ok() && !names->empty() &&
      std::find(names->begin(), names->end(), name) == names->end()) {
    hint = absl::StrCat("; there are: ", Some(*names));
  }
  return absl::NotFoundError(absl::StrCat(status.message(), hint));
}

absl::StatusOr<std::unique_ptr<ServedModel>> ModelRepository::LoadFromCopy(
    const ModelPlan& plan, const VersionFolder& folder,
    const ComputePlace& place) {
  const absl::StatusOr<CheckedCopy> copy =
      CheckedCopy::Make(folder, options_.manifests);
  if (!copy.ok()) {
    return Named(plan, folder, copy.status());
  }
  if (plan.config_text.has_value()) {
    if (absl::Status status = copy->CheckConfig(*plan.config_text);
        !status.ok()) {
      return Named(plan, folder, status);
    }
  }
  auto model =
      LoadModel(plan.config, options_.overrides, copy->folder(), place);
  if (!model.ok()) {
    return copy->InRepository(model.status());
  }
  return model;
}

absl::StatusOr<std::unique_ptr<ServedModel>> ModelRepository::Load(
    const ModelPlan& plan, int64_t version, DeviceUse use) {
  const VersionFolder& folder = plan.versions.at(version).folder;
  const ComputePlace place = {
      .device = options_.device.get(),
      .share = use == DeviceUse::kShared ? &share_ : nullptr};
  if (!options_.path.empty() &&
      options_.manifests.use == ManifestUse::kRequired) {
    return LoadFromCopy(plan, folder, place);
  }
  if (!options_.path.empty()) {
    if (absl::Status status = CheckManifests(folder, options_.manifests);
        !status.ok()) {
      return Named(plan, folder, status);
    }
  }
  return LoadModel(plan.config, options_.overrides, folder, place);
}

absl::Status ModelRepository::ForClients(const absl::Status& status) const {
  namespace fs = std::filesystem;
  const fs::path folder = options_.single.has_value()
                              ? fs::path(options_.single->path).parent_path()
                              : fs::path(options_.path);
  std::string text(status.message());
  std::error_code error;
  for (const fs::path& above :
       {fs::canonical(folder, error), fs::absolute(folder, error), folder}) {
    if (!above.empty()) {
      text = WithoutPath(text, above.string());
    }
  }
  return absl::Status(status.code(),
                      PrintableText(text, kMaxReasonBytes, "\n"));
}

}  // namespace ferry
