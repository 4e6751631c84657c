// ModelRepository knows which models there are, in a folder or embedded, and
// how each is loaded. It keeps no model: ModelControl does.
//
// A folder is Triton's: <name>/config.pbtxt and <name>/<version>/<file>, read
// anew by every call. Without a folder there are the embedded networks, or the
// one model that flags describe. A name never leaves the folder, nor does a
// link in it.
//
// Thread safety: const after construction, but for what is on the disk.
// Errors: each says which model, what was expected and what was found.
#ifndef FERRY_MODELS_REPOSITORY_MODEL_REPOSITORY_H_
#define FERRY_MODELS_REPOSITORY_MODEL_REPOSITORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "batcher/device_share.h"
#include "models/config/model_config.h"
#include "models/config/model_overrides.h"
#include "models/repository/manifest.h"
#include "models/repository/model_loader.h"
#include "models/repository/repository_folder.h"
#include "models/repository/served_model.h"
#include "models/repository/single_model.h"

namespace ferry {

// Whether loading may find what a config leaves out.
enum class ConfigCompletion { kOn, kOff };

struct ModelRepositoryOptions {
  std::string path;                   // empty: the embedded models, or
  std::optional<SingleModel> single;  // this one
  ConfigCompletion completion = ConfigCompletion::kOn;
  ManifestRules manifests;  // with `path`
  ModelOverrides overrides;
  // Batches that models which share the device compute at once, by weight; 0:
  // one a core.
  int32_t device_instances = 0;
  // What LibTorch's models compute on; null: the processor.
  std::shared_ptr<DeviceRuntime> device = nullptr;
};

// Whether a model shares the device with others.
enum class DeviceUse { kAlone, kShared };

// What a model's folder says at one moment.
struct ModelPlan {
  ModelConfig config;
  // The text that it was read from, "" where that file is missing; none: it was
  // read from no file.
  std::optional<std::string> config_text;
  struct Version {
    VersionFolder folder;
    std::string fingerprint;  // another one: config or files have changed
  };
  std::map<int64_t, Version> versions;  // those that version_policy chooses

  // Returns the fingerprint of all of them.
  std::string Fingerprint() const;
};

class ModelRepository {
 public:
  explicit ModelRepository(const ModelRepositoryOptions& options);

  // Returns the names of all models, sorted, and what is none. NOT_FOUND where
  // the folder cannot be read.
  absl::StatusOr<RepositoryNames> List() const;
  absl::StatusOr<std::vector<std::string>> Names() const;

  bool Has(const std::string& name) const;

  // Those that are served where none is named: all of the folder, at least
  // one; of the embedded ones "mlp".
  absl::StatusOr<std::vector<std::string>> DefaultNames() const;

  // Reads a model's config and lists its versions. `config_json` replaces
  // config.pbtxt where it is not empty. NOT_FOUND where there is no such model,
  // UNAVAILABLE where the system does not let its folder be read.
  absl::StatusOr<ModelPlan> Plan(const std::string& name,
                                 const std::string& config_json = "") const;

  // Adds to NOT_FOUND what the repository holds instead: for those that asked
  // for the model, as it changes with others.
  absl::Status WithHint(const std::string& name,
                        const absl::Status& status) const;

  // Checks one version's manifests, loads it and warms it up: where they are
  // required, from a copy of what was checked. The repository outlives the
  // model.
  absl::StatusOr<std::unique_ptr<ServedModel>> Load(const ModelPlan& plan,
                                                    int64_t version,
                                                    DeviceUse use);

  // A status of the above as clients may see it: in UTF-8, at most 4 KiB, and
  // paths begin at the model repository, not above.
  absl::Status ForClients(const absl::Status& status) const;

 private:
  // Sets `text` to what the config was read from, where that is a file.
  absl::StatusOr<ModelConfig> ReadConfig(
      const std::string& name, const std::string& config_json,
      std::optional<std::string>& text) const;
  absl::StatusOr<ModelConfig> ReadFolderConfig(
      const std::string& name, std::optional<std::string>& text) const;
  absl::StatusOr<ModelConfig> ReadSingleConfig(
      const std::string& name, const std::string& config_json) const;
  absl::StatusOr<ModelConfig> ReadEmbeddedConfig(
      const std::string& name, const std::string& config_json) const;
  absl::StatusOr<std::vector<VersionFolder>> Versions(
      const std::string& name, const ModelOptions& options) const;
  std::string Fingerprint(const std::string& name,
                          const VersionFolder& folder) const;
  absl::StatusOr<std::unique_ptr<ServedModel>> LoadFromCopy(
      const ModelPlan& plan, const VersionFolder& folder,
      const ComputePlace& place);
  ConfigOrigin origin() const;

  const ModelRepositoryOptions options_;
  DeviceShare share_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_MODEL_REPOSITORY_H_
