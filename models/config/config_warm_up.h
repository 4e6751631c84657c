// ReadConfigWarmUp reads `model_warmup`: samples to run before serving.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_CONFIG_WARM_UP_H_
#define FERRY_MODELS_CONFIG_CONFIG_WARM_UP_H_

#include "models/config/config_diagnostics.h"
#include "models/config/model_options.h"
#include "proto/model_config.pb.h"

namespace ferry {

// Fills `warm_up`, checked against the spec's inputs where the config has
// them. REQUIRES: options.spec is read.
void ReadConfigWarmUp(const inference::ModelConfig& message,
                      const ConfigNode& node, ModelOptions& options,
                      ConfigDiagnostics& diagnostics);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_WARM_UP_H_
