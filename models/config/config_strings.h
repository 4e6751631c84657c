// FindStringsNotUtf8 checks names, files and parameters of a config for UTF-8.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_CONFIG_STRINGS_H_
#define FERRY_MODELS_CONFIG_CONFIG_STRINGS_H_

#include "models/config/config_diagnostics.h"

namespace ferry {

// Adds a diagnostic for each text that is no UTF-8: a client could not read the
// config, nor the name of a tensor.
void FindStringsNotUtf8(const ConfigNode& config,
                        ConfigDiagnostics& diagnostics);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_STRINGS_H_
