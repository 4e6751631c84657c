// ScriptOutputs picks named tensors from what forward() of a TorchScript module
// gives: one tensor; a tuple or list of tensors; a named tuple; a dict with
// text keys. A list of strings is a tensor of type BYTES.
//
// Thread safety: ScriptOutputs is const after construction; free functions.
// Errors: INVALID_ARGUMENT for anything else: values that are no tensors, and
// tuples, lists and dicts in one another.
#ifndef FERRY_MODELS_TORCH_SCRIPT_SCRIPT_OUTPUTS_H_
#define FERRY_MODELS_TORCH_SCRIPT_SCRIPT_OUTPUTS_H_

#include <ATen/core/ivalue.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/torch/network.h"
#include "tensor/tensor.h"

namespace ferry {

// Picks a config's outputs from what forward() gives.
class ScriptOutputs {
 public:
  // `fields`: those of the named tuple that forward() gives, or none.
  ScriptOutputs(const std::vector<TensorSpec>& outputs,
                const std::vector<std::string>& fields);

  // Appends the tensors in the config's order. By name from a dict, and from a
  // named tuple whose fields have the config's names; else by the index in
  // "NAME__<index>"; else the first ones in order. What the config does not
  // have is left out.
  absl::Status Pick(const c10::IValue& value, Values& picked) const;

 private:
  absl::Status PickByPlace(c10::ArrayRef<c10::IValue> values,
                           Values& picked) const;
  absl::Status PickByName(const c10::Dict<c10::IValue, c10::IValue>& values,
                          Values& picked) const;

  const std::vector<TensorSpec> outputs_;
  std::vector<size_t> indexes_;  // those in the names; empty: not all have one
  std::vector<size_t> places_;   // among the fields; empty: other names
};

// Returns all that forward() gave with the names that a config would use:
// those of a dict or a named tuple, else OUTPUT__0, OUTPUT__1, ...
absl::StatusOr<std::vector<std::pair<std::string, at::Tensor>>> NameOutputs(
    const c10::IValue& value, const std::vector<std::string>& fields);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_SCRIPT_OUTPUTS_H_
