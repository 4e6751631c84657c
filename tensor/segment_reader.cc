// Implements SegmentReader: counts and copies bytes of several pieces.
#include "tensor/segment_reader.h"

#include <cstring>

namespace ferry {

SegmentReader::SegmentReader(absl::Span<const ByteSegment> segments)
    : segments_(segments) {
  for (const ByteSegment& segment : segments) {
    left_ += segment.size;
  }
  SkipEmptyRuns();
}

bool SegmentReader::Copy(size_t bytes, std::byte* to) {
  return ForEach(bytes, [&](const ByteSegment& piece) {
    std::memcpy(to, piece.data, piece.size);
    to += piece.size;
  });
}

}  // namespace ferry
