// Tags, varints and lengths over runs.
#include "server/wire_reader.h"

#include <algorithm>

namespace ferry {
namespace {

// Of tags and lengths, as protobuf has it: what is longer is malformed, even if
// the number is small.
constexpr int kMaxShortVarintBytes = 5;
constexpr uint64_t kMaxTag = UINT32_MAX;

}  // namespace

WireReader::WireReader(absl::Span<const Run> runs) : runs_(runs) {
  for (const Run& run : runs) {
    left_ += run.size;
  }
  SkipEmptyRuns();
}

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
  for (int i = 0; i < max_bytes && left_ > 0; ++i) {
    const auto byte = static_cast<uint64_t>(runs_.front().data[offset_]);
    ++offset_;
    --left_;
    SkipEmptyRuns();
    value |= (byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      return i < kMaxVarintBytes - 1 || byte <= 1;
    }
  }
  return false;
}

bool WireReader::ReadLength(size_t& length) {
  uint64_t value = 0;
  if (!ReadVarint(value, kMaxShortVarintBytes) || value > left_) {
    return false;
  }
  length = value;
  return true;
}

bool WireReader::Skip(size_t bytes) {
  if (bytes > left_) {
    return false;
  }
  left_ -= bytes;
  while (bytes > 0) {
    const size_t here = std::min(bytes, runs_.front().size - offset_);
    offset_ += here;
    bytes -= here;
    SkipEmptyRuns();
  }
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

bool WireReader::Take(size_t bytes, std::vector<Run>& pieces) {
  if (bytes > left_) {
    return false;
  }
  left_ -= bytes;
  while (bytes > 0) {
    const Run& run = runs_.front();
    const size_t here = std::min(bytes, run.size - offset_);
    pieces.push_back({run.data + offset_, here});
    offset_ += here;
    bytes -= here;
    SkipEmptyRuns();
  }
  return true;
}

}  // namespace ferry
