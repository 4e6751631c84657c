// TypedContents counts the elements of an InferTensorContents as it lies in a
// message; TypedSegment() makes tensor bytes of them.
//
// Protobuf would build all of it first: a string of 40 bytes for each element
// of two. Here nothing is built before type and count are the model's.
//
// Thread safety: thread-compatible.
// Errors: INVALID_ARGUMENT for a field of another type, several fields, a
// wrong number of elements, a value that does not fit its type; the message
// begins with the fault and does not name the tensor.
#ifndef FERRY_SERVER_CODEC_TYPED_CONTENTS_H_
#define FERRY_SERVER_CODEC_TYPED_CONTENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/inference.pb.h"
#include "tensor/data_type.h"
#include "tensor/tensor.h"

namespace ferry {

struct TypedContents {
  static constexpr uint32_t kLastField =
      inference::InferTensorContents::kBytesContentsFieldNumber;

  // Counts the elements of one more message, which is merged with those before
  // as protobuf merges them. Returns false where it is malformed.
  [[nodiscard]] bool Count(absl::Span<const ByteSegment> message);

  std::array<int64_t, kLastField + 1> elements{};  // [field number]
  size_t text_bytes = 0;                           // of bytes_contents
};

// Returns `count` elements of that type as one run, inside `bytes`, which keeps
// still as long as it is used. `contents` counted the messages in `segments`.
absl::StatusOr<ByteSegment> TypedSegment(const TypedContents& contents,
                                         absl::Span<const ByteSegment> segments,
                                         DataType type, int64_t count,
                                         std::vector<std::byte>& bytes);

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_TYPED_CONTENTS_H_
