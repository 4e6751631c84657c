// ReadReshapes reads `reshape` of inputs and outputs, the model's shape where
// it is not the wire's.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_CONFIG_RESHAPES_H_
#define FERRY_MODELS_CONFIG_CONFIG_RESHAPES_H_

#include "models/config/config_diagnostics.h"
#include "models/config/model_options.h"
#include "proto/model_config.pb.h"

namespace ferry {

// Fills `input_reshapes` and `output_reshapes`. REQUIRES: options.backend is
// set.
void ReadReshapes(const inference::ModelConfig& message, const ConfigNode& node,
                  ModelOptions& options, ConfigDiagnostics& diagnostics);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_RESHAPES_H_
