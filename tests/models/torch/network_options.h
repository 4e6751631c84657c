// NetworkOptions gives tests a built-in network's options: encoder, 32 tokens.
//
// Thread safety: free function.
#ifndef FERRY_TESTS_MODELS_TORCH_NETWORK_OPTIONS_H_
#define FERRY_TESTS_MODELS_TORCH_NETWORK_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/config/model_options.h"

namespace ferry {

// `widths`: of the layers of an mlp, inputs first.
inline ModelOptions NetworkOptions(const std::string& network,
                                   const std::vector<int64_t>& widths = {
                                       64, 128, 32}) {
  ModelOptions options;
  options.name = network;
  options.backend = BackendKind::kNetwork;
  options.network = network;
  options.spec.max_batch_size = 4;
  if (network == "mlp") {
    options.widths = widths;
    options.spec.inputs = {{"input", DataType::kFp32, {widths.front()}}};
    options.spec.outputs = {{"output", DataType::kFp32, {widths.back()}}};
  } else if (network == "resnet50") {
    options.spec.inputs = {{"input", DataType::kFp32, {3, 224, 224}}};
    options.spec.outputs = {{"output", DataType::kFp32, {1000}}};
  } else {
    options.spec.inputs = {{"input_ids", DataType::kInt64, {32}},
                           {"attention_mask", DataType::kInt64, {32}}};
    options.spec.outputs = {{"embedding", DataType::kFp32, {384}}};
  }
  return options;
}

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_NETWORK_OPTIONS_H_
