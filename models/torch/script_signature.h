// What the schema of a TorchScript module's forward() says: its arguments by
// name, where a config's inputs stand among them, the fields of a named tuple
// that it gives; and the examples that a traced file keeps.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_SCRIPT_SIGNATURE_H_
#define FERRY_MODELS_TORCH_SCRIPT_SIGNATURE_H_

#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "batcher/tensor.h"

namespace ferry {

// Returns the index in "NAME__<index>", or nothing for other names.
std::optional<size_t> IndexInName(const std::string& name);

// Returns forward() as people read it: "forward(Tensor x) -> Tensor". REQUIRES:
// the module has one.
std::string SignatureText(const torch::jit::Module& module);

// Returns the names of forward()'s first `wanted` arguments. INVALID_ARGUMENT
// where there is no forward(), or it takes more without a default, or fewer.
absl::StatusOr<std::vector<std::string>> ArgumentNames(
    const torch::jit::Module& module, size_t wanted);

// Returns where each input stands among the arguments: by its name, or by the
// index in "NAME__<index>"; where no name is either, in the config's order, as
// in Triton. INVALID_ARGUMENT for a mixture, and where two take one place.
absl::StatusOr<std::vector<size_t>> PlaceInputs(
    const std::vector<TensorSpec>& inputs,
    const std::vector<std::string>& arguments);

// Returns the names of the fields of the named tuple that forward() gives; none
// where it gives no named tuple.
std::vector<std::string> OutputFields(const torch::jit::Module& module);

// Returns tensors of the types and sizes that the module in the file was traced
// with; none where it keeps none (scripted, frozen) or not only tensors. Their
// values are not to be read: the file has none. Throws what LibTorch
// throws where it is no TorchScript file.
std::vector<at::Tensor> TracedInputs(const std::string& path);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_SIGNATURE_H_
