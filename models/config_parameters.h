// Reads the `parameters` of a config: Ferry's own settings of a model.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_PARAMETERS_H_
#define FERRY_MODELS_CONFIG_PARAMETERS_H_

#include "models/config_findings.h"
#include "models/model_options.h"

namespace ferry {

// Reads every parameter of the config into `options`. REQUIRES:
// options.backend is set. Adds a finding for each key that is unknown, given
// twice, or of another backend, and for each value out of range.
void ReadConfigParameters(const ConfigNode& config, ModelOptions& options,
                          ConfigFindings& findings);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_PARAMETERS_H_
