// Made-up inputs of one row for any model, for ferry-forward and warm-up.
//
// Floats are uniform in [-1, 1), integers in [0, 100), so that they are token
// ids of any vocabulary; an input named "*mask*" is all ones. Seeded.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_RANDOM_ROW_H_
#define FERRY_MODELS_RANDOM_ROW_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "batcher/tensor.h"
#include "models/row_requests.h"

namespace ferry {

// Draws `count` elements as they lie on the wire.
std::vector<std::byte> DrawElements(DataType type, int64_t count,
                                    std::mt19937& random);

// Draws a row. A dimension of any size has `any_size`.
std::vector<RowInput> RandomRow(const ModelSpec& spec, int64_t any_size);

}  // namespace ferry

#endif  // FERRY_MODELS_RANDOM_ROW_H_
