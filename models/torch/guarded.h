// What is said where LibTorch throws.
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

// Of an INTERNAL error, says with which inputs: "with 'x' [1,3]: ...".
absl::Status WithInputs(const absl::Status& status, const ModelSpec& spec,
                        const Values& inputs);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_GUARDED_H_
