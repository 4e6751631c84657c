// AppendElement() turns numbers into elements of tensors: it checks ranges and
// rounds halves to nearest, ties to even (IEEE 754).
//
// Thread safety: free functions.
#ifndef FERRY_BENCH_CLIENT_ELEMENT_BITS_H_
#define FERRY_BENCH_CLIENT_ELEMENT_BITS_H_

#include <cstdint>
#include <string>

#include "tensor/data_type.h"

namespace ferry::bench {

// Each appends `value` as an element of `type`, little-endian. Returns false,
// with nothing appended, where the type does not hold it: an integer out of its
// range, a fraction for an integer, a number beyond the largest of a float. A
// BOOL is 0 or 1. REQUIRES: `type` is not kBytes.
[[nodiscard]] bool AppendElement(DataType type, double value, std::string& out);
[[nodiscard]] bool AppendElement(DataType type, int64_t value,
                                 std::string& out);
[[nodiscard]] bool AppendElement(DataType type, uint64_t value,
                                 std::string& out);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_ELEMENT_BITS_H_
