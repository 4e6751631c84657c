// CheckRawElements() checks the elements of raw_input_contents that may be
// wrong: those of type BOOL and BYTES. Other bytes are always some number.
//
// Thread safety: free function over values.
#ifndef FERRY_SERVER_CODEC_RAW_CONTENTS_H_
#define FERRY_SERVER_CODEC_RAW_CONTENTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tensor/data_type.h"
#include "tensor/tensor.h"

namespace ferry {

// Returns OK where `segments` hold `count` elements of that type. REQUIRES:
// they hold that many bytes, if the elements of the type are of fixed size.
// INVALID_ARGUMENT, with what was expected and what was found.
absl::Status CheckRawElements(DataType type, int64_t count,
                              absl::Span<const ByteSegment> segments);

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_RAW_CONTENTS_H_
