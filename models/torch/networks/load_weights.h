// LoadWeights fills the parameters of a module from a safetensors file.
//
// Names: the file's are the module's, but for the prefixes "bert." and
// "model.", one of which may stand before all of them, and for names that the
// caller passes over. Types: F32, F16 and BF16, kept in fp32 here.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_TORCH_NETWORKS_LOAD_WEIGHTS_H_
#define FERRY_MODELS_TORCH_NETWORKS_LOAD_WEIGHTS_H_

#include <torch/nn/module.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ferry {

// Copies each parameter and buffer of `module` from the file at `path`.
// `pass_over`: beginnings of names that may stand in the file and are not used.
// INVALID_ARGUMENT lists all names that are missing, all that are surplus, and
// each tensor whose shape or type is another; the module is unchanged then.
absl::Status LoadWeights(torch::nn::Module& module, const std::string& path,
                         const std::vector<std::string>& pass_over);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORKS_LOAD_WEIGHTS_H_
