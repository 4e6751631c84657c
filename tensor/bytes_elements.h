// WriteBytesElement() and its like handle elements of type BYTES as they lie on
// the wire, in a batch and in a reply: each behind its length, four bytes,
// little-endian. Their rows differ in size.
// Wire fact: the Open Inference Protocol's raw contents of BYTES.
//
// Thread safety: free functions over values.
#ifndef FERRY_TENSOR_BYTES_ELEMENTS_H_
#define FERRY_TENSOR_BYTES_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/output_buffer.h"
#include "tensor/segment_reader.h"

namespace ferry {

inline constexpr size_t kBytesLengthSize = 4;

// Reads the length of the next element; `reader` then stands before its bytes.
// Returns false where less than a length is left; the bytes may still be too
// few.
[[nodiscard]] bool ReadBytesLength(SegmentReader& reader, uint32_t& length);

// Skips `count` elements. Returns false where they are not all there.
[[nodiscard]] bool SkipBytesElements(SegmentReader& reader, int64_t count);

// Writes an element to `to`, which has room for its length and its bytes.
// Returns one past the last byte written.
std::byte* WriteBytesElement(std::string_view bytes, std::byte* to);

// The same at the end of `out`.
void AppendBytesElement(std::string_view bytes, std::string& out);

// Sets output.row_starts from the elements that output.data holds, of `rows`
// rows of output.row_dims. REQUIRES: `bytes` holds just these elements.
void IndexBytesRows(int32_t rows, size_t bytes, OutputTensor& output);

}  // namespace ferry

#endif  // FERRY_TENSOR_BYTES_ELEMENTS_H_
