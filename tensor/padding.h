// PaddedInputs and CopyPadded() round the one size of a row that varies up to
// one of a few, so that requests of different sizes share a batch; RowChunks
// serves the way back, for outputs.
//
// A row is seen as chunks: its elements from the dimension that varies on, once
// for each index of the dimensions before it. Padding appends zeros to every
// chunk; cutting leaves the end of every chunk off.
//
// Thread safety: functions over values; PaddedInputs is thread-compatible.
#ifndef FERRY_TENSOR_PADDING_H_
#define FERRY_TENSOR_PADDING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "tensor/tensor.h"

namespace ferry {

// Returns the first dimension of a spec that varies.
std::optional<size_t> VaryingDim(absl::Span<const int64_t> spec_dims);

// The chunks of one row.
struct RowChunks {
  int64_t count = 1;
  int64_t inner = 1;  // elements at each index of the dimension that varies
};

// Returns those of a row in which dimension `varying` varies.
RowChunks ChunksOf(absl::Span<const int64_t> row_dims, size_t varying);

// Copies chunks of `bytes` bytes that lie behind each other in `segments` to
// `to`, `padded_bytes` apart, and fills what is between with zeros. REQUIRES:
// room for all of them, of padded_bytes. Returns one past the last byte
// written.
std::byte* CopyPadded(absl::Span<const ByteSegment> segments, size_t bytes,
                      size_t padded_bytes, std::byte* to);

// Pads the inputs of a request and makes the masks that it leaves out: views of
// ones that the process has once, so that a request costs none of its own.
class PaddedInputs {
 public:
  // Sets padded_dims of each input that the spec pads. A mask that is left out
  // is given: ones, of the size of the input that it follows. Views point here
  // until the next call. REQUIRES: inputs fit the spec, of `rows` rows each; a
  // mask has one element for each of what it follows.
  // Returns the first input whose size is not that of the one that it follows,
  // where there is one.
  std::optional<size_t> Apply(const ModelSpec& spec, int32_t rows,
                              absl::Span<TensorView> inputs);

 private:
  using Dims = absl::InlinedVector<int64_t, 6>;

  struct Room {
    Dims dims;  // of a mask that was made
    Dims padded_dims;
    std::vector<ByteSegment> ones;  // of a mask that was made
  };

  static void MakeMask(const TensorSpec& spec, int64_t size, int32_t rows,
                       Room& room, TensorView& mask);

  std::vector<Room> rooms_;  // [spec input]
};

}  // namespace ferry

#endif  // FERRY_TENSOR_PADDING_H_
