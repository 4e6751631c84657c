// ParseModelConfig reads config.pbtxt: the message as the ModelConfig RPC
// answers it, and ModelOptions, its checked meaning.
//
// Guarantees: what Ferry cannot honor is refused, and what has no effect here
// is noted, never ignored. One pass finds everything: syntax, unknown fields,
// unsupported fields, values out of range; each with its field, its line or the
// path of the element, and what to write instead.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_CONFIG_MODEL_CONFIG_H_
#define FERRY_MODELS_CONFIG_MODEL_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/config/model_options.h"
#include "proto/model_config.pb.h"

namespace ferry {

// The spec may lack inputs or outputs where the model's file says them:
// models/config/config_completion.h.
struct ModelConfig {
  ModelOptions options;
  // What is in force, defaults included.
  inference::ModelConfig message;
  // What one would keep as config.pbtxt: what was read, what flags say, and
  // what was found for what is left out.
  inference::ModelConfig kept;
};

// What the file of a config is named in a model's folder.
inline constexpr char kConfigFile[] = "config.pbtxt";

// Larger ones are refused.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// Waits at most this long where a config batches and names no delay.
inline constexpr Duration kDefaultMaxWait{5'000'000};  // 5 ms

// Reads the text of a config. `source` stands in messages ("mlp/config.pbtxt");
// `name` is the model's folder. INVALID_ARGUMENT: one line a diagnostic.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text,
                                             absl::string_view source,
                                             const std::string& name);

// Parses what ParseModelConfig does from the JSON form of the message, which a
// client sends to replace the file. Paths of fields are named, not lines.
absl::StatusOr<ModelConfig> ParseModelConfigJson(const std::string& text,
                                                 const std::string& name);

// Checks what ParseModelConfig does of a message that has no text.
absl::StatusOr<ModelConfig> CheckModelConfig(inference::ModelConfig message,
                                             absl::string_view source,
                                             const std::string& name);

// Returns the text of a config's file. NOT_FOUND where it cannot be read.
absl::StatusOr<std::string> ReadModelConfigText(const std::string& path);

// Parses what ParseModelConfig does from a file; NOT_FOUND as above.
absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& path,
                                            const std::string& name);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_MODEL_CONFIG_H_
