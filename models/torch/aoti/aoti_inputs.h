// ReadAotiInputs reads a compiled package's inputs from its generated source.
//
// A package has no schema. Its code checks dtype and sizes only where an
// environment variable asks for it, and then refuses batches of one row, so
// Ferry checks; what the code expects stands in the source that the package
// carries, as those checks.
//
// Thread safety: free functions and plain values.
#ifndef FERRY_MODELS_TORCH_AOTI_AOTI_INPUTS_H_
#define FERRY_MODELS_TORCH_AOTI_AOTI_INPUTS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ferry {

struct AotiInput {
  struct Dimension {
    int64_t min = 0;
    int64_t max = std::numeric_limits<int64_t>::max();
    std::optional<int64_t> stride;  // in elements, where it is a constant
    // The code takes the size from here; else, where it is no constant, it
    // assumes the size to be one that it takes elsewhere.
    bool is_taken_here = false;
  };

  std::string name;  // in the code
  at::ScalarType type = at::kFloat;
  std::vector<Dimension> dimensions;
};

// Reads the checks in `source`, of the wrapper of a package. INVALID_ARGUMENT
// where it does not say of each input what it takes.
absl::StatusOr<std::vector<AotiInput>> ReadAotiInputs(absl::string_view source);

// Returns the sizes that the input takes, such as [0..8,3].
std::string DescribeSizes(const AotiInput& input);

// OK where the package may read the tensors, one for each input; OUT_OF_RANGE
// where it may those of other sizes with as many rows; else INVALID_ARGUMENT.
// Both say what it takes and what it was given. `has_rows`: dimension 0 of each
// is the batch.
absl::Status CheckAotiInputs(const std::vector<AotiInput>& inputs,
                             const std::vector<at::Tensor>& tensors,
                             bool has_rows);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_AOTI_AOTI_INPUTS_H_
