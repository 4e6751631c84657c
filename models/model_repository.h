// ModelRepository loads the models of a folder, or the embedded ones, and finds
// them by name and version.
//
// A folder is Triton's: <name>/config.pbtxt and <name>/<version>/<file>.
// Without a folder the embedded networks serve: "mlp" by default; "resnet50"
// and "encoder" when named.
//
// Thread safety: constant after Create(); Find() takes no lock.
// Errors: Create() fails when a model that it was told to load cannot serve,
// and says which, what was expected and what was found.
#ifndef FERRY_MODELS_MODEL_REPOSITORY_H_
#define FERRY_MODELS_MODEL_REPOSITORY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "batcher/clock.h"
#include "batcher/weighted_gate.h"
#include "models/model_overrides.h"
#include "models/served_model.h"

namespace ferry {

struct ModelRepositoryOptions {
  std::string path;                      // empty: the embedded models
  std::vector<std::string> load_models;  // empty: all of the folder, or mlp
  ModelOverrides overrides;
  // Batches that several models together compute at once, shared by weight; 0:
  // one a core. A model that is alone has all its lanes.
  int32_t device_lanes = 0;
};

class ModelRepository {
 public:
  static absl::StatusOr<std::unique_ptr<ModelRepository>> Create(
      const ModelRepositoryOptions& options);

  // Returns the model of that name and version (empty: the latest). NOT_FOUND
  // where there is none; INVALID_ARGUMENT for a version that is no number. The
  // model lives as long as the repository.
  absl::StatusOr<const ServedModel*> Find(const std::string& name,
                                          const std::string& version) const;

  // All served versions, by name, then version.
  std::vector<const ServedModel*> models() const;

  // Tells every batcher to take no more requests.
  void BeginDrain();

  // Waits until every batcher has answered what it admitted, at most until
  // `until`. DEADLINE_EXCEEDED where one has not.
  absl::Status Drain(TimePoint until);

 private:
  explicit ModelRepository(int32_t device_lanes) : gate_(device_lanes) {}

  WeightedGate gate_;  // outlives the models
  std::map<std::string, std::map<int64_t, std::unique_ptr<ServedModel>>>
      models_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_MODEL_REPOSITORY_H_
