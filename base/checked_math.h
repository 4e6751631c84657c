// CheckedMultiply(), CheckedAdd() and ElementCount() report an overflow, for
// every product of numbers that a client or a file can choose.
//
// Thread safety: free functions over values.
#ifndef FERRY_BASE_CHECKED_MATH_H_
#define FERRY_BASE_CHECKED_MATH_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace ferry {

// Returns a * b, or nothing when it does not fit or a factor is negative.
inline std::optional<int64_t> CheckedMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
    return std::nullopt;
  }
  return product;
}

// Returns a + b, or nothing when it does not fit.
inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return std::nullopt;
  }
  return sum;
}

// Returns the product of all dims (1 for a scalar), or nothing when one is
// negative or the product does not fit.
inline std::optional<int64_t> ElementCount(absl::Span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    const std::optional<int64_t> next = CheckedMultiply(count, dim);
    if (!next.has_value()) {
      return std::nullopt;
    }
    count = *next;
  }
  return count;
}

}  // namespace ferry

#endif  // FERRY_BASE_CHECKED_MATH_H_
