// ReadConfigTensors reads max_batch_size, input and output of a model config.
//
// Thread safety: free function over values.
#ifndef FERRY_MODELS_CONFIG_CONFIG_TENSORS_H_
#define FERRY_MODELS_CONFIG_CONFIG_TENSORS_H_

#include <string>
#include <vector>

#include "models/config/config_diagnostics.h"
#include "models/config/model_options.h"
#include "proto/model_config.pb.h"
#include "tensor/tensor.h"

namespace ferry {

// Fills `spec`, `label_files` and reshapes; what a TorchScript model's config
// leaves out stays empty. REQUIRES: options.backend is set.
void ReadConfigTensors(const inference::ModelConfig& message,
                       const ConfigNode& node, ModelOptions& options,
                       ConfigDiagnostics& diagnostics);

// Returns the names, with commas between.
std::string NamesOf(const std::vector<TensorSpec>& tensors);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_TENSORS_H_
