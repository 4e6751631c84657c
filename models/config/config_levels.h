// ReadLevels reads priorities and their queues from `dynamic_batching`.
//
// Thread safety: a function of its arguments.
#ifndef FERRY_MODELS_CONFIG_CONFIG_LEVELS_H_
#define FERRY_MODELS_CONFIG_CONFIG_LEVELS_H_

#include "models/config/config_diagnostics.h"
#include "models/config/model_options.h"
#include "proto/model_config.pb.h"

namespace ferry {

// Fills `levels` and `default_level`: priority_levels, default_priority_level,
// default_queue_policy and priority_queue_policy.
void ReadLevels(const inference::ModelDynamicBatching& batching,
                const ConfigNode& node, ModelOptions& options,
                ConfigDiagnostics& diagnostics);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_LEVELS_H_
