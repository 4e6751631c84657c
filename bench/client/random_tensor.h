// RandomElements() makes random contents of any datatype, as the wire has them.
//
// Thread safety: one free function.
#ifndef FERRY_BENCH_CLIENT_RANDOM_TENSOR_H_
#define FERRY_BENCH_CLIENT_RANDOM_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "tensor/data_type.h"

namespace ferry::bench {

// Integers are drawn from [low, high], both included.
struct IntegerRange {
  int64_t low = 0;
  int64_t high = 1;  // every vocabulary, mask and list of types has these two
};

// Returns `count` elements, little-endian: floating point uniform in [-1, 1),
// integers uniform in `range` clamped to the type, BOOL 0 or 1, BYTES eight
// letters each behind their length.
std::string RandomElements(DataType type, size_t count,
                           const IntegerRange& range, std::mt19937_64& random);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_RANDOM_TENSOR_H_
