// OutputBuffer holds the outputs of one batch, shared by the replies that
// reference its rows until the last of them is written.
//
// Thread safety: Ref() and Unref() from any thread. The contents are written
// by one thread before the first reply and read-only after.
//
// Invariants: what the backend wrote before it resolved the batch is visible
// to the thread that gets the buffer in Completion::Respond. It outlives its
// backend if a reply still holds it.
#ifndef FERRY_TENSOR_OUTPUT_BUFFER_H_
#define FERRY_TENSOR_OUTPUT_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "tensor/tensor.h"

namespace ferry {

// One output of a batch, row-major, rows one after the other.
struct OutputTensor {
  std::byte* data = nullptr;
  size_t row_bytes = 0;  // unused where rows differ in size
  // Shape of one row. kAnySize where rows differ in that size: AnySize().
  absl::InlinedVector<int64_t, 6> row_dims;
  // Where rows differ in bytes, as those of type BYTES do: where each begins,
  // and where the last ends; in bytes from `data`. Else empty.
  std::vector<size_t> row_starts;

  // Rows [first, first + count).
  ByteSegment Rows(int32_t first, int32_t count) const {
    const auto begin = static_cast<size_t>(first);
    const auto end = begin + static_cast<size_t>(count);
    return row_starts.empty()
               ? ByteSegment{data + row_bytes * begin,
                             row_bytes * (end - begin)}
               : ByteSegment{data + row_starts[begin],
                             row_starts[end] - row_starts[begin]};
  }

  // The size of that row which is kAnySize in row_dims. REQUIRES: one is.
  int64_t AnySize(int32_t row, size_t element_size) const {
    auto other_bytes = static_cast<int64_t>(element_size);
    for (const int64_t dim : row_dims) {
      other_bytes *= dim == kAnySize ? 1 : dim;
    }
    return static_cast<int64_t>(Rows(row, 1).size) / other_bytes;
  }
};

class OutputBuffer {
 public:
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;

  // One per output of the model, in the order of ModelSpec::outputs.
  absl::Span<const OutputTensor> tensors() const { return tensors_; }
  absl::Span<OutputTensor> mutable_tensors() {
    return absl::MakeSpan(tensors_);
  }

  // Whether replies hold so many buffers of this kind that a reply should copy
  // its rows rather than reference this one.
  virtual bool crowded() const = 0;

  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }

  // Gives one reference back; the last one recycles the buffer.
  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Recycle();
    }
  }

 protected:
  OutputBuffer() = default;
  virtual ~OutputBuffer() = default;

  // Called by the last Unref(), on its thread. Never blocks.
  virtual void Recycle() = 0;

  std::vector<OutputTensor> tensors_;

 private:
  std::atomic<int32_t> references_{0};
};

// Holds one reference to an OutputBuffer, or none.
class OutputRef {
 public:
  OutputRef() = default;
  explicit OutputRef(OutputBuffer* buffer) : buffer_(buffer) {
    if (buffer_ != nullptr) {
      buffer_->Ref();
    }
  }
  OutputRef(const OutputRef& other) : OutputRef(other.buffer_) {}
  OutputRef(OutputRef&& other) noexcept
      : buffer_(std::exchange(other.buffer_, nullptr)) {}
  OutputRef& operator=(OutputRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~OutputRef() {
    if (buffer_ != nullptr) {
      buffer_->Unref();
    }
  }

  OutputBuffer* get() const { return buffer_; }
  OutputBuffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  OutputBuffer* buffer_ = nullptr;
};

// Rows [first, first + count) of a batch's outputs. Borrowed: copy the pointer
// into an OutputRef to keep the rows.
struct OutputRows {
  OutputBuffer* buffer = nullptr;  // null when the outcome is an error
  int32_t first = 0;
  int32_t count = 0;
};

}  // namespace ferry

#endif  // FERRY_TENSOR_OUTPUT_BUFFER_H_
