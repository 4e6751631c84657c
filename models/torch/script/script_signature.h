// ArgumentsOf and others read what a TorchScript module's forward() says: its
// arguments by name, where a config's inputs stand among them, the fields of a
// named tuple that it gives; and the examples that a traced file keeps.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_SCRIPT_SCRIPT_SIGNATURE_H_
#define FERRY_MODELS_TORCH_SCRIPT_SCRIPT_SIGNATURE_H_

#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/tensor.h"

namespace ferry {

// An argument of forward().
struct Argument {
  std::string name;
  std::string type;  // as TorchScript writes it
  bool has_default = false;
  bool may_be_none = false;
  c10::IValue absent;  // what it is given where a request leaves it out
};

// Returns forward() as people read it: "forward(Tensor x) -> Tensor". REQUIRES:
// the module has one.
std::string SignatureText(const torch::jit::Module& module);

// Returns all arguments of forward(). INVALID_ARGUMENT where there is no
// forward(), or it takes more than `wanted` without a default, or fewer.
absl::StatusOr<std::vector<Argument>> ArgumentsOf(
    const torch::jit::Module& module, size_t wanted);

// Returns where each input stands among the arguments: by its name, or by the
// index in "NAME__<index>"; where no name is either, in the config's order, as
// in Triton. INVALID_ARGUMENT for a mixture, where two take one place, and
// where an argument without a default gets none.
absl::StatusOr<std::vector<size_t>> PlaceInputs(
    const std::vector<TensorSpec>& inputs,
    const std::vector<Argument>& arguments);

// Whether forward() takes its tensors by name, in one Dict[str, Tensor].
// REQUIRES: the module has one.
bool TakesDict(const torch::jit::Module& module);

// Returns OK where the dict of forward() takes what the spec says of `input`.
absl::Status CheckDictInput(const TensorSpec& input);

// Returns OK where `argument` takes what the spec says of `input`: strings or a
// tensor, and nothing if it may be left out.
absl::Status CheckArgument(const TensorSpec& input, const Argument& argument);

// Whether that type, as TorchScript writes it, is a tensor, or none.
bool IsTensorType(const std::string& type);

// Whether it is of strings: TYPE_STRING.
bool IsStringsType(const std::string& type);

// Returns the types of what forward() gives, of a tuple those of its elements.
// REQUIRES: the module has one.
std::vector<std::string> OutputTypes(const torch::jit::Module& module);

// Returns the names of the fields of the named tuple that forward() gives; none
// where it gives no named tuple.
std::vector<std::string> OutputFields(const torch::jit::Module& module);

// Returns tensors of the types and sizes that the module in the file was traced
// with; none where it keeps none (scripted, frozen) or not only tensors. Their
// values are not to be read: the file has none. Throws what LibTorch
// throws where it is no TorchScript file.
std::vector<at::Tensor> TracedInputs(const std::string& path);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_SCRIPT_SIGNATURE_H_
