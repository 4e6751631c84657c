// RunReader reads bytes that lie in several pieces as if they were one,
// without copying them.
//
// Guarantee: never reads outside the given runs, whatever is asked. What would
// pass the end fails and leaves the position where it was.
//
// Thread safety: thread-compatible. Does not own the bytes, which outlive it.
#ifndef FERRY_BATCHER_RUN_READER_H_
#define FERRY_BATCHER_RUN_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "batcher/tensor.h"

namespace ferry {

class RunReader {
 public:
  explicit RunReader(absl::Span<const Run> runs);

  bool at_end() const { return left_ == 0; }
  size_t left() const { return left_; }  // bytes

  // The next byte. REQUIRES: !at_end().
  uint8_t front() const {
    return static_cast<uint8_t>(runs_.front().data[offset_]);
  }
  // Goes one byte on. REQUIRES: !at_end().
  void Advance() {
    ++offset_;
    --left_;
    SkipEmptyRuns();
  }

  [[nodiscard]] bool Skip(size_t bytes) {
    return ForEach(bytes, [](const Run&) {});
  }
  // Appends the pieces of the next `bytes` bytes and skips them.
  [[nodiscard]] bool Take(size_t bytes, std::vector<Run>& pieces) {
    return ForEach(bytes, [&](const Run& piece) { pieces.push_back(piece); });
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
      const Run& run = runs_.front();
      const size_t here =
          bytes < run.size - offset_ ? bytes : run.size - offset_;
      use(Run{run.data + offset_, here});
      offset_ += here;
      bytes -= here;
      SkipEmptyRuns();
    }
    return true;
  }

  void SkipEmptyRuns() {
    while (!runs_.empty() && offset_ == runs_.front().size) {
      runs_.remove_prefix(1);
      offset_ = 0;
    }
  }

  absl::Span<const Run> runs_;  // front: where it stands
  size_t offset_ = 0;           // in the front run
  size_t left_ = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_RUN_READER_H_
