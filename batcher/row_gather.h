// GatherRows copies the rows of a closed batch from the received messages to
// where the device wants them: the one copy on the way in.
//
// Thread safety: free function; the batch's requests must not be staged yet.
#ifndef FERRY_BATCHER_ROW_GATHER_H_
#define FERRY_BATCHER_ROW_GATHER_H_

#include <cstddef>

#include "batcher/batch.h"

namespace ferry {

// Copies input `input` of every request, in row order, to `to`. REQUIRES: `to`
// has room for batch.rows() rows of RowBytes(type, batch.row_dims(input)).
// Returns one past the last byte written.
std::byte* GatherRows(const Batch& batch, size_t input, std::byte* to);

}  // namespace ferry

#endif  // FERRY_BATCHER_ROW_GATHER_H_
