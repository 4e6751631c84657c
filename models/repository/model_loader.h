// LoadModel makes a ServedModel from a config: its instances and its scheduler.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_REPOSITORY_MODEL_LOADER_H_
#define FERRY_MODELS_REPOSITORY_MODEL_LOADER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "batcher/device_share.h"
#include "models/config/model_overrides.h"
#include "models/repository/model_copies.h"
#include "models/repository/served_model.h"

namespace ferry {

// What models compute on. Both outlive the models.
struct ComputePlace {
  DeviceRuntime* device = nullptr;  // null: the processor
  DeviceShare* share = nullptr;     // null: the model has all of it
};

// Loads, warms up, and starts a scheduler. `config` has its overrides applied;
// `overrides` give the bounds of the queue. Errors name the model.
absl::StatusOr<std::unique_ptr<ServedModel>> LoadModel(
    const ModelConfig& config, const ModelOverrides& overrides,
    const VersionFolder& folder, const ComputePlace& place);

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_MODEL_LOADER_H_
