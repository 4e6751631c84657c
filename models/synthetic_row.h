// ZeroRow and RandomRow make synthetic inputs of one row for any model, for
// ferry-forward and warm-up: zeros (and empty strings), or drawn ones.
//
// Drawn floats are uniform in [-1, 1), those of FP16 in [0.5, 1), integers in
// [0, 100), so that they are token ids of any vocabulary; strings have eight
// letters.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_SYNTHETIC_ROW_H_
#define FERRY_MODELS_SYNTHETIC_ROW_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "models/row_requests.h"
#include "tensor/tensor.h"

namespace ferry {

// The seed of all that is drawn: runs are alike.
inline constexpr uint32_t kDrawSeed = 7;

// Returns whether `rows` rows of the spec's inputs, with `any_size` for each
// size that varies, are cheap to try: 4 Mi elements at most.
bool IsCheap(const ModelSpec& spec, int64_t any_size, int32_t rows);

// Returns `count` elements as they lie on the wire.
std::vector<std::byte> ZeroElements(DataType type, int64_t count);
std::vector<std::byte> DrawElements(DataType type, int64_t count,
                                    std::mt19937& random);

// Returns a row with `any_size` for each size that varies, of inputs that are
// padded the largest of their sizes up to it or the smallest. A mask that may
// be left out is; of a drawn row, another INT64 input named "*mask*" is all
// ones. REQUIRES: the bytes can be counted.
std::vector<RowInput> ZeroRow(const ModelSpec& spec, int64_t any_size);
std::vector<RowInput> RandomRow(const ModelSpec& spec, int64_t any_size);

}  // namespace ferry

#endif  // FERRY_MODELS_SYNTHETIC_ROW_H_
