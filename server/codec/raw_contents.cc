// Implements CheckRawElements: bools are 0 or 1, and lengths fit.
#include "server/codec/raw_contents.h"

#include "absl/strings/str_cat.h"
#include "tensor/bytes_elements.h"
#include "tensor/segment_reader.h"

namespace ferry {
namespace {

// A bool that is neither 0 nor 1 is none, whatever computes with it.
absl::Status CheckBools(absl::Span<const ByteSegment> segments) {
  for (const ByteSegment& segment : segments) {
    for (size_t i = 0; i < segment.size; ++i) {
      if (static_cast<uint8_t>(segment.data[i]) > 1) {
        return absl::InvalidArgumentError(
            "expected bytes of 0 or 1 as datatype 'BOOL', got another value");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(int64_t count, absl::Span<const ByteSegment> segments) {
  SegmentReader reader(segments);
  for (int64_t i = 0; i < count; ++i) {
    if (reader.at_end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected ", count, " elements of datatype 'BYTES', got ", i));
    }
    uint32_t length = 0;
    const size_t left = reader.left();
    if (!ReadBytesLength(reader, length)) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i,
                       " of datatype 'BYTES': expected a length "
                       "of ",
                       kBytesLengthSize, " bytes, got ", left, " bytes"));
    }
    if (!reader.Skip(length)) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " of datatype 'BYTES': expected ", length,
                       " bytes behind its length, got ", reader.left()));
    }
  }
  if (!reader.at_end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", count, " elements of datatype 'BYTES', got ",
                     reader.left(), " bytes behind them"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRawElements(DataType type, int64_t count,
                              absl::Span<const ByteSegment> segments) {
  switch (type) {
    case DataType::kBool:
      return CheckBools(segments);
    case DataType::kBytes:
      return CheckBytes(count, segments);
    default:
      return absl::OkStatus();
  }
}

}  // namespace ferry
