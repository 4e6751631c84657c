// SegmentReader reads bytes that lie in several pieces as if they were one,
// without copying them.
//
// Guarantee: never reads outside the given segments, whatever is asked. What
// would pass the end fails and leaves the position where it was.
//
// Thread safety: thread-compatible. Does not own the bytes, which outlive it.
#ifndef FERRY_TENSOR_SEGMENT_READER_H_
#define FERRY_TENSOR_SEGMENT_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tensor/tensor.h"

namespace ferry {

class SegmentReader {
 public:
  explicit SegmentReader(absl::Span<const ByteSegment> segments);

  bool at_end() const { return left_ == 0; }
  size_t left() const { return left_; }  // bytes

  // The next byte. REQUIRES: !at_end().
  uint8_t front() const {
    return static_cast<uint8_t>(segments_.front().data[offset_]);
  }
  // Goes one byte on. REQUIRES: !at_end().
  void Advance() {
    ++offset_;
    --left_;
    SkipEmptyRuns();
  }

  [[nodiscard]] bool Skip(size_t bytes) {
    return ForEach(bytes, [](const ByteSegment&) {});
  }
  // Appends the pieces of the next `bytes` bytes and skips them.
  [[nodiscard]] bool Take(size_t bytes, std::vector<ByteSegment>& pieces) {
    return ForEach(bytes,
                   [&](const ByteSegment& piece) { pieces.push_back(piece); });
  }
  // Copies the next `bytes` bytes to `to` and skips them.
  [[nodiscard]] bool Copy(size_t bytes, std::byte* to);

 private:
  // Calls `use` with the pieces of the next `bytes` bytes and skips them.
  template <typename Use>
  bool ForEach(size_t bytes, const Use& use) {
    if (bytes > left_) {
      return false;
    }
    left_ -= bytes;
    while (bytes > 0) {
      const ByteSegment& segment = segments_.front();
      const size_t here =
          bytes < segment.size - offset_ ? bytes : segment.size - offset_;
      use(ByteSegment{segment.data + offset_, here});
      offset_ += here;
      bytes -= here;
      SkipEmptyRuns();
    }
    return true;
  }

  void SkipEmptyRuns() {
    while (!segments_.empty() && offset_ == segments_.front().size) {
      segments_.remove_prefix(1);
      offset_ = 0;
    }
  }

  absl::Span<const ByteSegment> segments_;  // front: where it stands
  size_t offset_ = 0;                       // in the front run
  size_t left_ = 0;
};

}  // namespace ferry

#endif  // FERRY_TENSOR_SEGMENT_READER_H_
