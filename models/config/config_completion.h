// CompleteConfig adds to a config the tensors that loading its model found.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_CONFIG_CONFIG_COMPLETION_H_
#define FERRY_MODELS_CONFIG_CONFIG_COMPLETION_H_

#include <string>

#include "models/config/model_config.h"
#include "tensor/tensor.h"

namespace ferry {

// Whether the config leaves out inputs or outputs.
bool IsIncomplete(const ModelOptions& options);

// Writes what `found` has and the config lacks into options and message. A
// model that batches, and whose config named no input, batches as `batching`
// says. Returns the lines of config.pbtxt that say the same.
std::string CompleteConfig(const ModelSpec& found, Batching batching,
                           ModelConfig& config);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_COMPLETION_H_
