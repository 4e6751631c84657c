// CompleteSpec finds what a config leaves out of a TorchScript model's tensors.
//
// Inputs come from the examples that a traced file keeps; outputs from probe
// forwards with batches of different sizes, so that a size that varies is seen
// to vary. What neither tells is asked for, never guessed.
//
// Thread safety: free function.
// Errors: INVALID_ARGUMENT with what was found and the lines to write.
#ifndef FERRY_MODELS_TORCH_SCRIPT_COMPLETE_SPEC_H_
#define FERRY_MODELS_TORCH_SCRIPT_COMPLETE_SPEC_H_

#include <torch/csrc/jit/api/module.h>

#include <string>

#include "absl/status/status.h"
#include "models/config/model_options.h"

namespace ferry {

// Rows of a batch where the model takes any number and none is named.
inline constexpr int32_t kDefaultMaxBatchSize = 64;

// Fills in options.spec where it has no inputs or no outputs. `module` is that
// of the file at `path`. Where the spec has neither and no max_batch_size, the
// model batches if it is seen to compute each row by itself; else the examples'
// whole shapes are its shapes. Where it has no inputs requests share batches,
// as CompleteConfig() has it. May load the module anew. Throws what LibTorch
// throws.
absl::Status CompleteSpec(const std::string& path, torch::jit::Module& module,
                          ModelOptions& options);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_COMPLETE_SPEC_H_
