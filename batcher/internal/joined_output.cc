// Implements JoinedOutput: copies the rows of parts to where they belong.
#include "batcher/internal/joined_output.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "tensor/bytes_elements.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

constexpr Outcome kNoMemory = {
    absl::StatusCode::kResourceExhausted,
    "outputs of requests larger than a batch need more memory than there is "
    "for them; send fewer rows"};
constexpr Outcome kShapesDiffer = {
    absl::StatusCode::kInternal,
    "model gave the parts of one request outputs of different shapes: expected "
    "rows as large as those of the first part"};

// Elements of type BYTES; rows of any other type are equally large.
bool IsBytes(const OutputTensor& tensor) {
  return !tensor.row_starts.empty() && !VaryingDim(tensor.row_dims).has_value();
}

// Whether the rows may be joined with those that `joined` is laid out for.
bool Fits(const OutputTensor& joined, const OutputTensor& tensor,
          const OutputRows& rows) {
  if (joined.row_dims != tensor.row_dims ||
      joined.row_starts.empty() != tensor.row_starts.empty()) {
    return false;
  }
  for (int32_t row = rows.first; row < rows.first + rows.count; ++row) {
    if (!IsBytes(joined) && tensor.Rows(row, 1).size != joined.row_bytes) {
      return false;
    }
  }
  return true;
}

void Copy(const ByteSegment& from, std::byte* to) {
  if (from.size > 0) {
    std::memcpy(to, from.data, from.size);
  }
}

}  // namespace

bool JoinBudget::TryTake(size_t bytes) {
  const auto mine = static_cast<int64_t>(bytes);
  if (mine < 0 || left_.fetch_sub(mine, std::memory_order_relaxed) < mine) {
    left_.fetch_add(std::max<int64_t>(mine, 0), std::memory_order_relaxed);
    return false;
  }
  return true;
}

JoinedOutput::Bytes JoinedOutput::Allocate(size_t bytes) {
  if (!budget_->TryTake(bytes)) {
    return nullptr;
  }
  taken_ += bytes;
  return Bytes(new (std::nothrow) std::byte[bytes]);
}

bool JoinedOutput::Layout(const OutputRows& like) {
  const absl::Span<const OutputTensor> tensors = like.buffer->tensors();
  tensors_.assign(tensors.begin(), tensors.end());
  storage_.resize(tensors.size());
  pieces_.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    OutputTensor& tensor = tensors_[i];
    if (IsBytes(tensor)) {
      continue;
    }
    tensor.row_bytes = tensors[i].Rows(like.first, 1).size;
    storage_[i] = Allocate(tensor.row_bytes * static_cast<size_t>(rows_));
    tensor.data = storage_[i].get();
    if (tensor.data == nullptr) {
      return false;
    }
    if (!tensor.row_starts.empty()) {
      tensor.row_starts.resize(static_cast<size_t>(rows_) + 1);
      for (size_t row = 0; row < tensor.row_starts.size(); ++row) {
        tensor.row_starts[row] = row * tensor.row_bytes;
      }
    }
  }
  return true;
}

Outcome JoinedOutput::Put(int32_t first_row, const OutputRows& rows) {
  if (tensors_.empty() && !Layout(rows)) {
    return kNoMemory;
  }
  const absl::Span<const OutputTensor> tensors = rows.buffer->tensors();
  if (tensors.size() != tensors_.size()) {
    return kShapesDiffer;
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const OutputTensor& joined = tensors_[i];
    if (!Fits(joined, tensors[i], rows)) {
      return kShapesDiffer;
    }
    const ByteSegment segment = tensors[i].Rows(rows.first, rows.count);
    std::byte* to = nullptr;
    if (IsBytes(joined)) {
      auto& [piece, bytes] = pieces_[i][first_row];
      piece = Allocate(segment.size);
      bytes = segment.size;
      to = piece.get();
    } else {
      to = joined.data + joined.row_bytes * static_cast<size_t>(first_row);
    }
    if (to == nullptr) {
      return kNoMemory;
    }
    Copy(segment, to);
  }
  return {};
}

Outcome JoinedOutput::Finish() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    OutputTensor& joined = tensors_[i];
    if (!IsBytes(joined)) {
      continue;
    }
    size_t bytes = 0;
    for (const auto& [first_row, piece] : pieces_[i]) {
      bytes += piece.second;
    }
    storage_[i] = Allocate(bytes);
    joined.data = storage_[i].get();
    if (joined.data == nullptr) {
      return kNoMemory;
    }
    std::byte* to = joined.data;
    for (const auto& [first_row, piece] : pieces_[i]) {
      Copy({piece.first.get(), piece.second}, to);
      to += piece.second;
    }
    pieces_[i].clear();
    IndexBytesRows(rows_, bytes, joined);
  }
  budget_->GiveBack(std::exchange(taken_, 0));
  return {};
}

void JoinedOutput::Recycle() {
  budget_->GiveBack(taken_);
  delete this;
}

}  // namespace ferry
