// Parse() reads texts of config.pbtxt as those of a model named "m".
//
// Thread safety: free functions.
#ifndef FERRY_TESTS_MODELS_PARSED_CONFIG_H_
#define FERRY_TESTS_MODELS_PARSED_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "models/config/model_config.h"

namespace ferry {

// x [4] to y [2], both FP32.
inline constexpr char kTensors[] = R"(
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }
)";

inline absl::StatusOr<ModelConfig> Parse(const std::string& text) {
  return ParseModelConfig(text, "m/config.pbtxt", "m");
}

// Why the text is refused; empty where it is taken.
inline std::string MessageOf(const std::string& text) {
  return std::string(Parse(text).status().message());
}

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_PARSED_CONFIG_H_
