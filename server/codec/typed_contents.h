// TypedSegment() gives typed contents (InferTensorContents) as tensor bytes.
//
// The repeated fields of 4 and 8 byte types and of bool lie in memory as the
// tensor does: the run is the field itself. Types narrower than their field
// are converted into memory of the caller.
//
// Thread safety: free functions.
// Errors: INVALID_ARGUMENT for a field of another type, several fields, a
// wrong number of elements, a value that does not fit its type; the message
// begins with the fault and does not name the tensor.
#ifndef FERRY_SERVER_CODEC_TYPED_CONTENTS_H_
#define FERRY_SERVER_CODEC_TYPED_CONTENTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference.pb.h"
#include "tensor/data_type.h"
#include "tensor/tensor.h"

namespace ferry {

// Returns `count` elements of that type as one run, inside `contents` or
// `narrowed`; both keep still as long as it is used.
absl::StatusOr<ByteSegment> TypedSegment(
    const inference::InferTensorContents& contents, DataType type,
    int64_t count, std::vector<std::byte>& narrowed);

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_TYPED_CONTENTS_H_
