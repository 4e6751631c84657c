// TensorSpec and ModelSpec describe what a model takes and gives, TensorView
// what a request brings: types, shapes, and bytes where they already lie.
//
// Shapes here are those of one row; the batch dimension is the row count of
// the request or batch. A model that does not batch (max_batch_size 0) has one
// row a request, whose shape is the whole shape.
//
// Thread safety: plain values; const access from any thread.
#ifndef FERRY_TENSOR_TENSOR_H_
#define FERRY_TENSOR_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensor/data_type.h"

namespace ferry {

// Any size, in TensorSpec::dims.
inline constexpr int64_t kAnySize = -1;

struct TensorSpec {
  std::string name;
  DataType type = DataType::kFp32;
  std::vector<int64_t> dims;  // of one row; kAnySize where it varies
  bool is_optional = false;   // an input that a request may leave out
  // The sizes that an input's one dimension of kAnySize is padded to,
  // ascending; empty: it is not padded (tensor/padding.h).
  std::vector<int64_t> pads = {};
  // The input whose size the dimension of kAnySize has: that of the request,
  // not of the padded batch. An output is cut to it.
  std::optional<size_t> follows = std::nullopt;
  // An optional input that follows another: ones where it is left out.
  bool is_mask = false;
};

struct ModelSpec {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  int32_t max_batch_size = 0;  // rows; 0: no batch dimension, one row a request
};

// A piece of a received message. Alignment 1: never cast to a wider pointer.
struct ByteSegment {
  const std::byte* data;
  size_t size;  // bytes
};

// One input of one request: its rows, one after the other, spread over
// segments. The request's owner keeps both dims, segments and bytes alive:
// the bytes until the batch is staged, the rest until the request has ended.
struct TensorView {
  absl::Span<const int64_t> dims;  // of one row, as it came; no kAnySize
  absl::Span<const ByteSegment> segments;  // rows * row bytes in all
  // Elements of type kBytes: rows differ in size (tensor/bytes_elements.h).
  bool is_bytes = false;
  bool is_given = true;  // false: left out; no dims, no segments
  // The shape of one row in its batch, where it is padded; empty: as it came.
  absl::Span<const int64_t> padded_dims = {};

  absl::Span<const int64_t> batch_dims() const {
    return padded_dims.empty() ? dims : padded_dims;
  }
};

// Returns the place of the tensor of that name.
std::optional<size_t> FindTensor(absl::Span<const TensorSpec> tensors,
                                 absl::string_view name);

// Returns whether `dims` are those of `spec`, any where it says kAnySize.
bool MatchesSizes(absl::Span<const int64_t> spec,
                  absl::Span<const int64_t> dims);

// Returns whether some row of the model may differ in shape from another.
bool HasVariableShape(const ModelSpec& spec);

// Returns whether requests may differ in shape or in what inputs they bring, so
// that not all can share a batch.
bool RequestsMayDiffer(const ModelSpec& spec);

// Returns the bytes of one row of that shape. REQUIRES: dims are non-negative,
// their byte count fits (checked at admission), type is not kBytes.
size_t RowBytes(DataType type, absl::Span<const int64_t> dims);

// Returns a key that differs, but for rare collisions, where shapes in a batch
// or the inputs left out differ.
uint64_t ShapeKey(absl::Span<const TensorView> inputs);

// Returns whether the two bring rows of the same shapes in a batch and leave
// out the same inputs.
bool SameShape(absl::Span<const TensorView> a, absl::Span<const TensorView> b);

}  // namespace ferry

#endif  // FERRY_TENSOR_TENSOR_H_
