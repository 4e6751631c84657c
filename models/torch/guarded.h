// Guarded runs work on LibTorch and turns what it throws into a status.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_GUARDED_H_
#define FERRY_MODELS_TORCH_GUARDED_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "models/torch/network.h"
#include "tensor/tensor.h"

namespace ferry {

// Runs `work` without gradients. What it throws becomes INTERNAL.
absl::Status Guarded(absl::FunctionRef<absl::Status()> work);

// Adds to an INTERNAL error with which inputs it was: "with 'x' [1,3]: ...".
absl::Status WithInputs(const absl::Status& status, const ModelSpec& spec,
                        const Values& inputs);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_GUARDED_H_
