// JoinedOutput holds the outputs of a request that was served in parts, in
// memory of their own; JoinBudget bounds that memory.
//
// Rows of fixed size go where they belong as their part ends. Rows that differ
// in size wait, part by part, until Finish() knows where each begins.
//
// Thread safety: Put() from several threads, once a part; Finish() after all of
// them. JoinBudget is thread-safe.
#ifndef FERRY_BATCHER_JOINED_OUTPUT_H_
#define FERRY_BATCHER_JOINED_OUTPUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/output_buffer.h"

namespace ferry {

// Bytes of joined outputs that may be alive at once. Outlives the batcher as
// long as replies hold such outputs.
class JoinBudget {
 public:
  explicit JoinBudget(int64_t max_bytes) : left_(max_bytes) {}

  bool TryTake(size_t bytes);
  void GiveBack(size_t bytes) {
    left_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }

 private:
  std::atomic<int64_t> left_;
};

class JoinedOutput final : public OutputBuffer {
 public:
  // Room for `rows` rows, of that many parts, shaped as those of `like`; null
  // without memory. An output whose size varies has its row_bytes set to those
  // of the first row of `like`. The first OutputRef owns it.
  static JoinedOutput* Create(const OutputRows& like, int32_t rows,
                              size_t parts, std::shared_ptr<JoinBudget> budget);

  bool crowded() const override { return false; }

  // Copies the rows of part `part`, the first of which is `first_row` of the
  // whole. Returns false without memory. REQUIRES: shaped as `like`.
  [[nodiscard]] bool Put(size_t part, int32_t first_row,
                         const OutputRows& rows);

  // Joins what waits. Returns false without memory.
  [[nodiscard]] bool Finish();

 private:
  // Rows of one part.
  struct Piece {
    std::unique_ptr<std::byte[]> data;
    size_t bytes = 0;
  };

  JoinedOutput(const OutputRows& like, int32_t rows, size_t parts,
               std::unique_ptr<std::byte[]> storage,
               std::shared_ptr<JoinBudget> budget, size_t bytes);

  bool TryTake(size_t bytes);
  std::byte* MakePiece(Piece& piece, size_t bytes);
  bool JoinPieces(size_t output);
  void Recycle() override;

  const int32_t rows_;
  const std::unique_ptr<std::byte[]> storage_;
  const std::shared_ptr<JoinBudget> budget_;
  std::atomic<size_t> taken_;                         // of the budget
  std::vector<std::vector<Piece>> pieces_;            // [output][part], or none
  std::vector<std::unique_ptr<std::byte[]>> joined_;  // [output], of pieces
};

}  // namespace ferry

#endif  // FERRY_BATCHER_JOINED_OUTPUT_H_
