// RowBatch makes a closed batch of requests of one row each, whose bytes lie in
// pieces, as received.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_GPU_ROW_BATCH_H_
#define FERRY_TESTS_GPU_ROW_BATCH_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "batcher/batch.h"

namespace ferry::bench {

struct RowBatchOptions {
  size_t requests = 1;
  size_t row_bytes = 4;       // those of FP32
  size_t padded_bytes = 0;    // of a row in the batch; 0: as it came
  size_t piece_bytes = 4096;  // of a run, at most
};

class RowBatch {
 public:
  // Byte i of request r is r * 7 + i * 13, modulo 256.
  explicit RowBatch(const RowBatchOptions& options)
      : rows_(options.requests),
        batch_(static_cast<int32_t>(options.requests),
               static_cast<int32_t>(options.requests)) {
    for (size_t r = 0; r < options.requests; ++r) {
      rows_[r].Fill(options, r);
      batch_.Add(rows_[r].request);
    }
  }

  const Batch& batch() const { return batch_; }

  // The runs of request `r`.
  const std::vector<ByteSegment>& runs(size_t r) const {
    return rows_[r].segments;
  }
  size_t requests() const { return rows_.size(); }

  // The bytes of all rows, one after the other, zeros where they are padded.
  std::string Expected() const {
    std::string expected;
    for (const Row& row : rows_) {
      for (const ByteSegment& segment : row.segments) {
        expected.append(reinterpret_cast<const char*>(segment.data),
                        segment.size);
      }
      expected.append(row.padding, '\0');
    }
    return expected;
  }

 private:
  struct Row {
    void Fill(const RowBatchOptions& options, size_t number) {
      const size_t bytes = options.row_bytes;
      for (size_t at = 0; at < bytes; at += options.piece_bytes) {
        const size_t size = std::min(options.piece_bytes, bytes - at);
        pieces.push_back(std::make_unique<std::byte[]>(size));
        for (size_t i = 0; i < size; ++i) {
          pieces.back()[i] =
              static_cast<std::byte>((number * 7 + (at + i) * 13) & 0xFF);
        }
        segments.push_back({pieces.back().get(), size});
      }
      dims = {static_cast<int64_t>(bytes / sizeof(float))};
      view[0] = {.dims = dims, .segments = segments};
      if (options.padded_bytes > 0) {
        padding = options.padded_bytes - bytes;
        padded = {static_cast<int64_t>(options.padded_bytes / sizeof(float))};
        view[0].padded_dims = padded;
      }
      request.inputs = view;
    }

    std::vector<std::unique_ptr<std::byte[]>> pieces;
    std::vector<ByteSegment> segments;
    std::array<int64_t, 1> dims{};
    std::array<int64_t, 1> padded{};
    std::array<TensorView, 1> view;
    size_t padding = 0;  // bytes
    InferRequest request;
  };

  std::vector<Row> rows_;  // in place once made
  Batch batch_;
};

}  // namespace ferry::bench

#endif  // FERRY_TESTS_GPU_ROW_BATCH_H_
