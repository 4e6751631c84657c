// PaddedRows() rounds a batch up to a batch bucket, a size that the model runs:
// a batch between two of them is padded to the next and costs what that costs.
//
// A list of them is ascending and ends with the largest batch; an empty one
// means that the model runs every size.
//
// Thread safety: functions.
#ifndef FERRY_BATCHER_BATCH_BUCKETS_H_
#define FERRY_BATCHER_BATCH_BUCKETS_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"

namespace ferry {

// Returns the rows that run where a batch has `rows`: the first bucket that
// holds them, or just `rows` where none does.
inline int32_t PaddedRows(absl::Span<const int32_t> buckets, int32_t rows) {
  const auto bucket = std::lower_bound(buckets.begin(), buckets.end(), rows);
  return bucket == buckets.end() ? rows : *bucket;
}

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_BUCKETS_H_
