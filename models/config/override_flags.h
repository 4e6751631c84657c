// AddOverrideFlags() adds the flags that override models' configs.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_OVERRIDE_FLAGS_H_
#define FERRY_MODELS_CONFIG_OVERRIDE_FLAGS_H_

#include <CLI/CLI.hpp>

#include "models/config/model_overrides.h"

namespace ferry {

// Adds --max-batch-size, --max-wait-ms, --policy, --queue-requests,
// --queue-bytes and --threads. Parsing of `app` sets `overrides`, which
// outlives it.
void AddOverrideFlags(CLI::App& app, ModelOverrides& overrides);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_OVERRIDE_FLAGS_H_
