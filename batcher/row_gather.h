// GatherRows copies the rows of a closed batch from the received messages to
// where the device wants them: the one copy on the way in.
//
// Thread safety: free function; the batch's requests must not be staged yet.
#ifndef FERRY_BATCHER_ROW_GATHER_H_
#define FERRY_BATCHER_ROW_GATHER_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "batcher/batch.h"

namespace ferry {

// Returns the bytes of input `input` of every request: batch.rows() rows of
// RowBytes(type, batch.row_dims(input)), or of any size with type BYTES.
size_t GatheredBytes(const Batch& batch, size_t input);

// Copies input `input` of every request, in row order, to `to`, as it came.
// REQUIRES: `to` has room for GatheredBytes(). Returns one past the last byte
// written.
std::byte* GatherRows(const Batch& batch, size_t input, std::byte* to);

// Gathers what GatherRows() does, a piece at a time: copies rows to `room`
// until it is full, calls `use` with what is in it, and begins anew. Each piece
// but the last fills the room. REQUIRES: `room` is not empty.
void GatherPieces(const Batch& batch, size_t input, absl::Span<std::byte> room,
                  absl::FunctionRef<void(absl::Span<const std::byte>)> use);

// Returns whether some request's rows of the input are smaller than those of
// the batch.
bool IsPadded(const Batch& batch, size_t input);

// Gathers what GatherRows() does, with zeros where a row is smaller than those
// of the batch. `varying`: the dimension that is padded. REQUIRES: `to` has
// room for batch.rows() rows of RowBytes(type, batch.row_dims(input)).
std::byte* GatherPaddedRows(const Batch& batch, size_t input, DataType type,
                            size_t varying, std::byte* to);

}  // namespace ferry

#endif  // FERRY_BATCHER_ROW_GATHER_H_
