// Makes a ServedModel from a config: its lanes, its backend, its batcher.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_MODEL_LOADER_H_
#define FERRY_MODELS_MODEL_LOADER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "batcher/device_gate.h"
#include "models/model_overrides.h"
#include "models/served_model.h"
#include "models/torch_library.h"

namespace ferry {

// Where one version's files lie.
struct VersionFolder {
  int64_t version = 1;
  std::string path;  // empty: the model needs no file
};

// Whether the model reads a file of its version folder.
bool NeedsFile(const ModelOptions& options);

// Makes the model's lanes, not warmed up. Errors name the model's file.
HostModelsOrStatus MakeLanes(const ModelOptions& options,
                             const std::string& folder);

// Loads, warms up, and starts a batcher. `config` has its overrides applied;
// `overrides` give the bounds of the queue. `gate` says whose turn it is on the
// device and outlives the model; null: the model has it to itself. Errors name
// the model.
absl::StatusOr<std::unique_ptr<ServedModel>> LoadModel(
    const ModelConfig& config, const ModelOverrides& overrides,
    const VersionFolder& folder, DeviceGate* gate);

}  // namespace ferry

#endif  // FERRY_MODELS_MODEL_LOADER_H_
