// The texts of a model config: names, files, parameters.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_TEXTS_H_
#define FERRY_MODELS_CONFIG_TEXTS_H_

#include "models/config_findings.h"

namespace ferry {

// Adds a finding for each text that is no UTF-8: a client could not read the
// config, nor the name of a tensor.
void FindTextsNotUtf8(const ConfigNode& config, ConfigFindings& findings);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_TEXTS_H_
