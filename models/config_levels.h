// Levels of priority and their queues, from `dynamic_batching`.
//
// Thread safety: a function of its arguments.
#ifndef FERRY_MODELS_CONFIG_LEVELS_H_
#define FERRY_MODELS_CONFIG_LEVELS_H_

#include "models/config_findings.h"
#include "models/model_options.h"
#include "proto/model_config.pb.h"

namespace ferry {

// Fills `levels` and `default_level`: priority_levels, default_priority_level,
// default_queue_policy and priority_queue_policy.
void ReadLevels(const inference::ModelDynamicBatching& batching,
                const ConfigNode& node, ModelOptions& options,
                ConfigFindings& findings);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_LEVELS_H_
