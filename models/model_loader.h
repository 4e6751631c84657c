// Makes a ServedModel from a config: its lanes, its backend, its batcher.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_MODEL_LOADER_H_
#define FERRY_MODELS_MODEL_LOADER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "batcher/device_gate.h"
#include "batcher/reply_burst.h"
#include "models/model_lanes.h"
#include "models/model_overrides.h"
#include "models/served_model.h"

namespace ferry {

// What models compute on, and who is told of their replies. All outlive the
// models.
struct ComputePlace {
  DeviceRuntime* device = nullptr;  // null: the processor
  DeviceGate* gate = nullptr;   // says whose turn it is; null: the model has it
  ReplyBurst* burst = nullptr;  // null: nobody
};

// Loads, warms up, and starts a batcher. `config` has its overrides applied;
// `overrides` give the bounds of the queue. Errors name the model.
absl::StatusOr<std::unique_ptr<ServedModel>> LoadModel(
    const ModelConfig& config, const ModelOverrides& overrides,
    const VersionFolder& folder, const ComputePlace& place);

}  // namespace ferry

#endif  // FERRY_MODELS_MODEL_LOADER_H_
