// ReadNormalization reads the parameter 'ferry.normalize.<input>', for bytes on
// the wire that are floats in the model.
//
// Thread safety: free function over constants.
#ifndef FERRY_MODELS_CONFIG_CONFIG_NORMALIZE_H_
#define FERRY_MODELS_CONFIG_CONFIG_NORMALIZE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "models/config/model_options.h"

namespace ferry {

inline constexpr absl::string_view kNormalizeKey = "ferry.normalize.";

// Reads "mean=0.485,0.456,0.406 std=0.229,0.224,0.225 divisor=255
// channels=last", each part optional, for the input of that name. Returns what
// was expected, or "" where it was read. REQUIRES: the spec is read.
std::string ReadNormalization(absl::string_view input, absl::string_view text,
                              ModelOptions& options);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_NORMALIZE_H_
