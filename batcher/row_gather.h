// GatherRows copies the rows of a closed batch from the received messages to
// where the device wants them: the one copy on the way in.
//
// Thread safety: free function; the batch's requests must not be staged yet.
#ifndef FERRY_BATCHER_ROW_GATHER_H_
#define FERRY_BATCHER_ROW_GATHER_H_

#include <cstddef>

#include "batcher/batch.h"

namespace ferry {

// Returns the bytes of input `input` of every request: batch.rows() rows of
// RowBytes(type, batch.row_dims(input)), or of any size with type BYTES.
size_t GatheredBytes(const Batch& batch, size_t input);

// Copies input `input` of every request, in row order, to `to`. REQUIRES: `to`
// has room for GatheredBytes(). Returns one past the last byte written.
std::byte* GatherRows(const Batch& batch, size_t input, std::byte* to);

}  // namespace ferry

#endif  // FERRY_BATCHER_ROW_GATHER_H_
