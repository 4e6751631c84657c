// Implements JoinedOutput: copies the rows of parts to where they belong.
#include "batcher/joined_output.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "tensor/bytes_elements.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

// Returns uninitialized memory; null if none could be allocated.
std::unique_ptr<std::byte[]> Allocate(size_t bytes) {
  return std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes]);
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

JoinedOutput* JoinedOutput::Create(const OutputRows& like, int32_t rows,
                                   size_t parts,
                                   std::shared_ptr<JoinBudget> budget) {
  size_t bytes = 0;  // 0 of those that differ
  for (const OutputTensor& tensor : like.buffer->tensors()) {
    bytes += tensor.row_bytes * static_cast<size_t>(rows);
  }
  if (!budget->TryTake(bytes)) {
    return nullptr;
  }
  std::unique_ptr<std::byte[]> storage = Allocate(bytes);
  if (storage == nullptr) {
    budget->GiveBack(bytes);
    return nullptr;
  }
  return new JoinedOutput(like, rows, parts, std::move(storage),
                          std::move(budget), bytes);
}

JoinedOutput::JoinedOutput(const OutputRows& like, int32_t rows, size_t parts,
                           std::unique_ptr<std::byte[]> storage,
                           std::shared_ptr<JoinBudget> budget, size_t bytes)
    : rows_(rows),
      storage_(std::move(storage)),
      budget_(std::move(budget)),
      taken_(bytes) {
  tensors_.assign(like.buffer->tensors().begin(), like.buffer->tensors().end());
  pieces_.resize(tensors_.size());
  joined_.resize(tensors_.size());
  std::byte* next = storage_.get();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    OutputTensor& tensor = tensors_[i];
    tensor.data = next;
    next += tensor.row_bytes * static_cast<size_t>(rows);
    pieces_[i].resize(tensor.row_starts.empty() ? 0 : parts);
    if (VaryingDim(tensor.row_dims).has_value()) {
      tensor.row_bytes = like.buffer->tensors()[i].Rows(like.first, 1).size;
    }
  }
}

bool JoinedOutput::Put(size_t part, int32_t first_row, const OutputRows& rows) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const OutputTensor& from = rows.buffer->tensors()[i];
    const ByteSegment segment = from.Rows(rows.first, rows.count);
    std::byte* to = nullptr;
    if (pieces_[i].empty()) {
      to = tensors_[i].data + from.row_bytes * static_cast<size_t>(first_row);
    } else if (to = MakePiece(pieces_[i][part], segment.size); to == nullptr) {
      return false;
    }
    if (segment.size > 0) {
      std::memcpy(to, segment.data, segment.size);
    }
  }
  return true;
}

bool JoinedOutput::Finish() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!pieces_[i].empty() && !JoinPieces(i)) {
      return false;
    }
  }
  return true;
}

bool JoinedOutput::TryTake(size_t bytes) {
  if (!budget_->TryTake(bytes)) {
    return false;
  }
  taken_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

std::byte* JoinedOutput::MakePiece(Piece& piece, size_t bytes) {
  // The second time is for when it is joined.
  if (!TryTake(2 * bytes)) {
    return nullptr;
  }
  piece = {Allocate(bytes), bytes};
  return piece.data.get();
}

bool JoinedOutput::JoinPieces(size_t output) {
  size_t bytes = 0;
  for (const Piece& piece : pieces_[output]) {
    bytes += piece.bytes;
  }
  joined_[output] = Allocate(bytes);
  OutputTensor& tensor = tensors_[output];
  tensor.data = joined_[output].get();
  if (tensor.data == nullptr) {
    return false;
  }
  std::byte* to = tensor.data;
  for (const Piece& piece : pieces_[output]) {
    std::memcpy(to, piece.data.get(), piece.bytes);
    to += piece.bytes;
  }
  pieces_[output].clear();
  if (VaryingDim(tensor.row_dims).has_value()) {
    tensor.row_starts.clear();
    for (int32_t row = 0; row <= rows_; ++row) {
      tensor.row_starts.push_back(tensor.row_bytes * static_cast<size_t>(row));
    }
  } else {
    IndexBytesRows(rows_, bytes, tensor);
  }
  return true;
}

void JoinedOutput::Recycle() {
  budget_->GiveBack(taken_.load(std::memory_order_relaxed));
  delete this;
}

}  // namespace ferry
