// Implements the shapes of tensors: sizes, keys and comparison.
#include "tensor/tensor.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "base/check.h"
#include "base/checked_math.h"

namespace ferry {

std::optional<size_t> FindTensor(absl::Span<const TensorSpec> tensors,
                                 absl::string_view name) {
  const auto found = std::find_if(
      tensors.begin(), tensors.end(),
      [&](const TensorSpec& tensor) { return tensor.name == name; });
  return found == tensors.end()
             ? std::nullopt
             : std::optional(static_cast<size_t>(found - tensors.begin()));
}

bool MatchesSizes(absl::Span<const int64_t> spec,
                  absl::Span<const int64_t> dims) {
  return std::equal(spec.begin(), spec.end(), dims.begin(), dims.end(),
                    [](int64_t expected, int64_t found) {
                      return expected == kAnySize || expected == found;
                    });
}

bool HasVariableShape(const ModelSpec& spec) {
  return std::any_of(
      spec.inputs.begin(), spec.inputs.end(), [](const TensorSpec& input) {
        return std::find(input.dims.begin(), input.dims.end(), kAnySize) !=
               input.dims.end();
      });
}

bool RequestsMayDiffer(const ModelSpec& spec) {
  return HasVariableShape(spec) ||
         std::any_of(spec.inputs.begin(), spec.inputs.end(),
                     [](const TensorSpec& input) { return input.is_optional; });
}

size_t RowBytes(DataType type, absl::Span<const int64_t> dims) {
  const std::optional<int64_t> count = ElementCount(dims);
  Check(count.has_value() && type != DataType::kBytes, "row size is known");
  return static_cast<size_t>(*count) * ElementSize(type);
}

uint64_t ShapeKey(absl::Span<const TensorView> inputs) {
  uint64_t key = 0;
  for (const TensorView& input : inputs) {
    key = absl::HashOf(key, input.is_given, input.batch_dims());
  }
  return key;
}

bool SameShape(absl::Span<const TensorView> a, absl::Span<const TensorView> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TensorView& x, const TensorView& y) {
                      return x.is_given == y.is_given &&
                             x.batch_dims() == y.batch_dims();
                    });
}

}  // namespace ferry
