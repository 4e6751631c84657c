// LoadedModel is one model of a repository, loaded into this process as
// ferry-server loads it where it serves that model alone.
//
// Thread safety: a free function; called once, from main().
#ifndef FERRY_BENCH_INPROCESS_LOADED_MODEL_H_
#define FERRY_BENCH_INPROCESS_LOADED_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "models/repository/model_repository.h"
#include "models/repository/served_model.h"

namespace ferry::bench {

struct LoadedModel {
  std::unique_ptr<ModelRepository> repository;  // outlives the model
  std::unique_ptr<ServedModel> model;
};

// Loads the newest version that the model's version_policy chooses. NOT_FOUND
// where there is no such model, with those that there are; errors of
// ModelRepository, with the model's name.
absl::StatusOr<LoadedModel> LoadNamedModel(
    const ModelRepositoryOptions& options, const std::string& name);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_INPROCESS_LOADED_MODEL_H_
