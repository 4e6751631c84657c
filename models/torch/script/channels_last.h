// WithChannelsLast prepares a TorchScript module for images with channels last:
// as tensor cores, and oneDNN's kernels, take convolutions of 16-bit floats.
//
// What a forward gives must not depend on it. LibTorch's operators see to that,
// but for those that ask for strides, and view(), which throws where a tensor
// does not lie as it expects. So a module is given channels last where
//  1. it convolves images with constant weights of 16-bit floats, and one of
//     its inputs is of images;
//  2. nothing in it asks for strides, is foreign to LibTorch, keeps state, or
//     writes to what reshape() and its like copy or not by the strides, and
//     none of its inputs is of strings;
//  3. no view() is in a branch or a loop, which a probe may not reach, nor
//     anywhere if sizes of inputs vary, which strides depend on;
//  4. probe forwards of one row and two run, and give what they give without.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_SCRIPT_CHANNELS_LAST_H_
#define FERRY_MODELS_TORCH_SCRIPT_CHANNELS_LAST_H_

#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "models/config/model_options.h"

namespace ferry {

// Whether forward() convolves images with constant weights of 16-bit floats.
// REQUIRES: `module` is frozen.
bool ConvolvesIn16Bits(const torch::jit::Module& module);

// [spec input]: whether it is of floats, [rows, channels, height, width] to the
// model.
std::vector<bool> ImageInputs(const ModelOptions& options);

// Returns why channels last could change what forward() does, by its code (2.
// and 3. above), or nothing. REQUIRES: `module` is frozen.
std::string WhyNotChannelsLast(const torch::jit::Module& module,
                               const ModelSpec& spec);

// Returns a copy whose convolutions have weights with channels last; the
// module keeps its own. REQUIRES: `module` is frozen. Throws what LibTorch
// throws.
torch::jit::Module WithChannelsLast(const torch::jit::Module& module);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_CHANNELS_LAST_H_
