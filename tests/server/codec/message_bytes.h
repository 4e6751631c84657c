// MessageBytes holds a serialized message in pieces, as a network delivers it.
//
// Each piece is an allocation of its own, so that a sanitizer sees a read past
// its end. Thread safety: thread-compatible.
#ifndef FERRY_TESTS_SERVER_CODEC_MESSAGE_BYTES_H_
#define FERRY_TESTS_SERVER_CODEC_MESSAGE_BYTES_H_

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/inference.pb.h"
#include "tensor/tensor.h"

namespace ferry {

class MessageBytes {
 public:
  explicit MessageBytes(const std::string& bytes)
      : MessageBytes(bytes, {bytes.size()}) {}

  // Pieces of those sizes; the rest is one more piece.
  MessageBytes(const std::string& bytes, const std::vector<size_t>& sizes) {
    size_t at = 0;
    for (size_t size : sizes) {
      Add(bytes, at, std::min(size, bytes.size() - at));
      at += segments_.back().size;
    }
    if (at < bytes.size()) {
      Add(bytes, at, bytes.size() - at);
    }
  }

  absl::Span<const ByteSegment> segments() const { return segments_; }

 private:
  void Add(const std::string& bytes, size_t at, size_t size) {
    pieces_.push_back(std::make_unique<std::byte[]>(size));
    std::memcpy(pieces_.back().get(), bytes.data() + at, size);
    segments_.push_back({pieces_.back().get(), size});
  }

  std::vector<std::unique_ptr<std::byte[]>> pieces_;
  std::vector<ByteSegment> segments_;
};

// Returns the bytes of the runs, one after the other.
inline std::string Joined(absl::Span<const ByteSegment> segments) {
  std::string bytes;
  for (const ByteSegment& segment : segments) {
    bytes.append(reinterpret_cast<const char*>(segment.data), segment.size);
  }
  return bytes;
}

// Returns the bytes of the values as they lie in memory.
template <typename T>
std::string RawBytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_CODEC_MESSAGE_BYTES_H_
