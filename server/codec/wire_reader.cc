// Implements WireReader: reads tags, varints and lengths out of segments.
#include "server/codec/wire_reader.h"

namespace ferry {
namespace {

// Bounds tags and lengths as protobuf does: what is longer is malformed, even
// if the number is small.
constexpr int kMaxShortVarintBytes = 5;
constexpr uint64_t kMaxTag = UINT32_MAX;

}  // namespace

bool WireReader::ReadTag(WireTag& tag) {
  uint64_t value = 0;
  if (!ReadVarint(value, kMaxShortVarintBytes) || value > kMaxTag ||
      (value & 7) > 5) {
    return false;
  }
  tag.field = static_cast<uint32_t>(value >> 3);
  tag.type = static_cast<WireType>(value & 7);
  return tag.field != 0;
}

bool WireReader::ReadLongVarint(uint64_t& value, int max_bytes) {
  value = 0;
  for (int i = 0; i < max_bytes && !bytes_.at_end(); ++i) {
    const uint64_t byte = bytes_.front();
    bytes_.Advance();
    value |= (byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      return i < kMaxVarintBytes - 1 || byte <= 1;
    }
  }
  return false;
}

bool WireReader::ReadLength(size_t& length) {
  uint64_t value = 0;
  if (!ReadVarint(value, kMaxShortVarintBytes) || value > bytes_.left()) {
    return false;
  }
  length = value;
  return true;
}

bool WireReader::SkipValue(WireType type) {
  uint64_t ignored = 0;
  size_t length = 0;
  switch (type) {
    case WireType::kVarint:
      return ReadVarint(ignored);
    case WireType::kFixed64:
      return Skip(8);
    case WireType::kBytes:
      return ReadLength(length) && Skip(length);
    case WireType::kFixed32:
      return Skip(4);
    case WireType::kGroupBegin:
    case WireType::kGroupEnd:
      break;
  }
  return false;
}

}  // namespace ferry
