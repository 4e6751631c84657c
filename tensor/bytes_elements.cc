// Implements BYTES elements: writes, reads, skips them; finds where rows begin.
#include "tensor/bytes_elements.h"

#include <cstring>

#include "base/check.h"
#include "base/checked_math.h"

namespace ferry {

bool ReadBytesLength(SegmentReader& reader, uint32_t& length) {
  std::byte bytes[kBytesLengthSize];
  if (!reader.Copy(sizeof(bytes), bytes)) {
    return false;
  }
  length = 0;
  for (size_t i = 0; i < sizeof(bytes); ++i) {
    length |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  }
  return true;
}

bool SkipBytesElements(SegmentReader& reader, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (!ReadBytesLength(reader, length) || !reader.Skip(length)) {
      return false;
    }
  }
  return true;
}

std::byte* WriteBytesElement(std::string_view bytes, std::byte* to) {
  for (size_t i = 0; i < kBytesLengthSize; ++i) {
    *to++ = static_cast<std::byte>(bytes.size() >> (8 * i) & 0xFF);
  }
  if (!bytes.empty()) {
    std::memcpy(to, bytes.data(), bytes.size());
  }
  return to + bytes.size();
}

void AppendBytesElement(std::string_view bytes, std::string& out) {
  const size_t at = out.size();
  out.resize(at + kBytesLengthSize + bytes.size());
  WriteBytesElement(bytes, reinterpret_cast<std::byte*>(out.data() + at));
}

void IndexBytesRows(int32_t rows, size_t bytes, OutputTensor& output) {
  const int64_t elements = ElementCount(output.row_dims).value_or(0);
  const ByteSegment segment = {output.data, bytes};
  SegmentReader reader({&segment, 1});
  output.row_starts.clear();
  for (int32_t row = 0; row < rows; ++row) {
    output.row_starts.push_back(bytes - reader.left());
    Check(SkipBytesElements(reader, elements), "the elements of a row");
  }
  Check(reader.at_end(), "no elements beyond the rows");
  output.row_starts.push_back(bytes);
}

}  // namespace ferry
