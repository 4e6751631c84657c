// ReadConfigMessage reads what a model config's message means, field by field.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_CONFIG_CONFIG_READER_H_
#define FERRY_MODELS_CONFIG_CONFIG_READER_H_

#include <optional>
#include <string>

#include "models/config/config_diagnostics.h"
#include "models/config/model_options.h"
#include "proto/model_config.pb.h"

namespace ferry {

// Reads the message into options. Adds a diagnostic for each field that Ferry
// does not honor and each value out of range; then the options are of no use.
// `name` is the model's folder.
ModelOptions ReadConfigMessage(const inference::ModelConfig& message,
                               const ConfigNode& node, const std::string& name,
                               ConfigDiagnostics& diagnostics);

// Returns the type of tensors on the wire, or nothing for TYPE_INVALID.
std::optional<DataType> FromConfigType(inference::DataType type);

// Returns the config's word for a type.
inference::DataType ToConfigType(DataType type);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_READER_H_
