// GatherStrings and CopyStrings handle BYTES inside a model: lists of strings,
// row-major. LibTorch has no tensor of them; TorchScript has List[str].
//
// Thread safety: free functions over values.
#ifndef FERRY_MODELS_TORCH_STRINGS_H_
#define FERRY_MODELS_TORCH_STRINGS_H_

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "batcher/batch.h"
#include "tensor/output_buffer.h"
#include "tensor/tensor.h"

namespace ferry {

using Strings = c10::List<std::string>;

// Returns whether it is a list of strings.
bool IsStrings(const c10::IValue& value);

// Returns the elements of a batch's input, padded with empty strings to
// `count`.
Strings GatherStrings(const Batch& batch, size_t input, int64_t count);

// Finds the shape of one row of an output of `rows` rows: the spec's dims, of
// which one may vary. INVALID_ARGUMENT where `strings` do not fill it.
absl::Status FindRowDims(const TensorSpec& spec, int64_t rows, int64_t strings,
                         std::vector<int64_t>& row_dims);

// Lays out output `output` of the buffer and copies the first `rows` rows.
// REQUIRES: IsStrings(strings), with that many rows at least. Throws where a
// string or all of them are too long.
void CopyStrings(const c10::IValue& strings, int32_t rows,
                 absl::Span<const int64_t> row_dims, size_t output,
                 OutputBuffer& buffer);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_STRINGS_H_
