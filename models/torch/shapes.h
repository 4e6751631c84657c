// Shape and ResolveSizes make shapes of batches from those of rows.
//
// Thread safety: free functions over values.
#ifndef FERRY_MODELS_TORCH_SHAPES_H_
#define FERRY_MODELS_TORCH_SHAPES_H_

#include <c10/util/ArrayRef.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/checked_math.h"
#include "tensor/tensor.h"

namespace ferry {

inline absl::Span<const int64_t> SpanOf(c10::IntArrayRef sizes) {
  return {sizes.data(), sizes.size()};
}

// Returns the shape of `rows` rows, without them where the model has no batch
// dimension.
inline std::vector<int64_t> Shape(bool has_rows, int32_t rows,
                                  absl::Span<const int64_t> row_dims) {
  std::vector<int64_t> shape;
  if (has_rows) {
    shape.push_back(rows);
  }
  shape.insert(shape.end(), row_dims.begin(), row_dims.end());
  return shape;
}

// Returns `to` with the sizes of `from` that vary in place of kAnySize, in
// order. `spec` says which of `from` vary.
inline std::vector<int64_t> ResolveSizes(absl::Span<const int64_t> spec,
                                         absl::Span<const int64_t> from,
                                         absl::Span<const int64_t> to) {
  std::vector<int64_t> resolved(to.begin(), to.end());
  auto next = resolved.begin();
  for (size_t i = 0; i < spec.size(); ++i) {
    if (spec[i] == kAnySize) {
      next = std::find(next, resolved.end(), kAnySize);
      if (next == resolved.end()) {
        break;
      }
      *next++ = from[i];
    }
  }
  return resolved;
}

// Returns the elements of one row. REQUIRES: row_dims were checked.
inline int64_t RowElements(absl::Span<const int64_t> row_dims) {
  return ElementCount(row_dims).value_or(0);
}

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SHAPES_H_
