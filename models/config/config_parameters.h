// ReadConfigParameters reads the `parameters`, Ferry's own settings of a model.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_CONFIG_PARAMETERS_H_
#define FERRY_MODELS_CONFIG_CONFIG_PARAMETERS_H_

#include "absl/strings/string_view.h"
#include "models/config/config_diagnostics.h"
#include "models/config/model_options.h"

namespace ferry {

// What a server writes into the config that it answers, and passes over where
// it comes back: the precision that was asked for and the one in force, and its
// error against fp32.
inline constexpr absl::string_view kAskedPrecisionKey = "ferry.precision.asked";
inline constexpr char kDefaultPrecision[] = "default";  // none was
inline constexpr absl::string_view kServingPrecisionKey =
    "ferry.precision.serving";
inline constexpr absl::string_view kMaxErrorKey = "ferry.precision.max_error";

// Reads every parameter of the config into `options`. REQUIRES:
// options.backend is set. Adds a diagnostic for each key that is unknown, given
// twice, or of another backend, and for each value out of range.
void ReadConfigParameters(const ConfigNode& config, ModelOptions& options,
                          ConfigDiagnostics& diagnostics);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_PARAMETERS_H_
