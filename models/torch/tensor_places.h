// PlaceByName finds where a config's tensors stand among those of a model.
//
// Thread safety: free functions over values.
#ifndef FERRY_MODELS_TORCH_TENSOR_PLACES_H_
#define FERRY_MODELS_TORCH_TENSOR_PLACES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/tensor.h"

namespace ferry {

// Returns the index in "NAME__<index>".
std::optional<size_t> IndexInName(const std::string& name);

// One tensor of a package's arguments or results.
struct CallTensor {
  std::string path;  // Triton's name of it: "ARGS[0]", "RESULT[key][1]", ...
  std::string key;   // the last of a dict's on the way to it, or empty
};

// Lists the tensors of a call spec, torch's JSON of a tree of tuples, lists and
// dicts, in the order in which a package takes and gives them. `roots` name the
// children of an argument's tree ("ARGS", "KWARGS") or the tree ("RESULT").
// INVALID_ARGUMENT where it is no such tree.
absl::StatusOr<std::vector<CallTensor>> ReadCallSpec(
    absl::string_view json, const std::vector<std::string>& roots);

// Returns the place of each tensor of the spec among `tensors`: by path, by
// key, or by index in its name; in order where none is found so. `side` is
// "input" or "output". INVALID_ARGUMENT where they are not as many, or some are
// found by name and some are not.
absl::StatusOr<std::vector<size_t>> PlaceByName(
    absl::string_view side, const std::vector<TensorSpec>& specs,
    const std::vector<CallTensor>& tensors);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_TENSOR_PLACES_H_
