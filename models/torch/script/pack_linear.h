// PackLinearLayers moves the linear layers of a frozen TorchScript module to
// oneDNN's weight layout.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_TORCH_SCRIPT_PACK_LINEAR_H_
#define FERRY_MODELS_TORCH_SCRIPT_PACK_LINEAR_H_

#include <torch/csrc/jit/api/module.h>

#include "models/config/model_options.h"

namespace ferry {

// Replaces each aten::linear of forward() with constant weights, bf16 or fp32,
// by the operator on reordered weights, and a relu that alone follows it by the
// fused one. Does nothing on processors without the kernels.
// REQUIRES: `module` is frozen. Throws what LibTorch throws.
void PackLinearLayers(torch::jit::Module& module, const ModelOptions& options);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_PACK_LINEAR_H_
