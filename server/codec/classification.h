// Classify() serves the classification extension: it replaces an output's
// values by the largest of each row, with index and label, as texts.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_CODEC_CLASSIFICATION_H_
#define FERRY_SERVER_CODEC_CLASSIFICATION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "tensor/data_type.h"

namespace ferry {

// More are asked of no output: sorting and writing them takes an instance's
// time.
inline constexpr int64_t kMaxClasses = 4096;

// Whether outputs of that type have classes: integers, FP32 and FP64.
bool HasClasses(DataType type);

// Rows of one output, one after the other.
struct ClassifiedRows {
  DataType type;
  const std::byte* data;
  int64_t rows;
  int64_t elements;  // of one row
};

// How many classes of a row are told where `count` are asked for.
inline int64_t ToldClasses(int64_t count, int64_t elements) {
  return count < elements ? count : elements;
}

// Returns a BYTES tensor of shape [rows, ToldClasses(count, elements)]: of each
// row the largest values first, of equal ones the lower index; each is
// "value:index", or "value:index:label" where labels[index] is not empty.
// REQUIRES: HasClasses(type).
std::string Classify(const ClassifiedRows& rows, int64_t count,
                     absl::Span<const std::string> labels);

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_CLASSIFICATION_H_
