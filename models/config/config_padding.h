// ReadPad, ReadMask and ReadCut read 'ferry.pad.<input>', 'ferry.mask.<input>'
// and 'ferry.cut.<output>': sizes that vary are rounded up in a batch.
//
// Thread safety: free functions over constants.
#ifndef FERRY_MODELS_CONFIG_CONFIG_PADDING_H_
#define FERRY_MODELS_CONFIG_CONFIG_PADDING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "models/config/config_diagnostics.h"
#include "models/config/model_options.h"

namespace ferry {

inline constexpr absl::string_view kPadKey = "ferry.pad.";
inline constexpr absl::string_view kMaskKey = "ferry.mask.";
inline constexpr absl::string_view kCutKey = "ferry.cut.";

// Each reads one parameter of the tensor of that name. Returns what was
// expected, or "" where it was read. REQUIRES: the spec is read.

// "16,32,64", or the name of another input, which is padded to these.
std::string ReadPad(absl::string_view input, absl::string_view text,
                    ModelOptions& options);
// The name of the input whose elements it tells from padding.
std::string ReadMask(absl::string_view input, absl::string_view text,
                     ModelOptions& options);
// The name of the input to whose own size it is cut.
std::string ReadCut(absl::string_view output, absl::string_view text,
                    ModelOptions& options);

// Gives the inputs that follow others their sizes, once all parameters are
// read, and adds a diagnostic for each tensor that does not fit the padding.
void FinishPadding(const ConfigNode& config, ModelOptions& options,
                   ConfigDiagnostics& diagnostics);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_PADDING_H_
