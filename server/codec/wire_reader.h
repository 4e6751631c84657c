// WireReader walks the protobuf wire format of one message that lies in
// several pieces, without copying it.
//
// Guarantee: never reads outside the given segments, whatever they hold. A read
// that would pass the end fails and leaves the position undefined.
//
// Thread safety: thread-compatible. Does not own the bytes, which outlive it.
#ifndef FERRY_SERVER_CODEC_WIRE_READER_H_
#define FERRY_SERVER_CODEC_WIRE_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tensor/segment_reader.h"

namespace ferry {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,  // a length, then that many bytes
  kGroupBegin = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

struct WireTag {
  uint32_t field = 0;
  WireType type = WireType::kVarint;
};

class WireReader {
 public:
  explicit WireReader(absl::Span<const ByteSegment> segments)
      : bytes_(segments) {}

  bool at_end() const { return bytes_.at_end(); }
  size_t left() const { return bytes_.left(); }  // bytes

  // Each returns false where the message is truncated or malformed.
  [[nodiscard]] bool ReadTag(WireTag& tag);
  [[nodiscard]] bool ReadVarint(uint64_t& value,
                                int max_bytes = kMaxVarintBytes) {
    if (!bytes_.at_end() && bytes_.front() < 0x80) {
      value = bytes_.front();
      bytes_.Advance();
      return true;
    }
    return ReadLongVarint(value, max_bytes);
  }
  // A length that fits into what is left.
  [[nodiscard]] bool ReadLength(size_t& length);
  [[nodiscard]] bool Skip(size_t bytes) { return bytes_.Skip(bytes); }
  // Skips the value behind a tag of that type; groups are malformed.
  [[nodiscard]] bool SkipValue(WireType type);
  // Appends the pieces of the next `bytes` bytes and skips them.
  [[nodiscard]] bool Take(size_t bytes, std::vector<ByteSegment>& pieces) {
    return bytes_.Take(bytes, pieces);
  }
  // Copies the next `bytes` bytes to `to` and skips them.
  [[nodiscard]] bool Copy(size_t bytes, std::byte* to) {
    return bytes_.Copy(bytes, to);
  }

 private:
  static constexpr int kMaxVarintBytes = 10;

  bool ReadLongVarint(uint64_t& value, int max_bytes);

  SegmentReader bytes_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_WIRE_READER_H_
