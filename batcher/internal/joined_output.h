// JoinedOutput holds the outputs of a request that was served in parts, in
// memory of their own; JoinBudget bounds that memory until all parts are there.
//
// From then on it is a reply's, which counts as that (UnsentReplies): a client
// that does not read holds none of the budget.
//
// Rows that are equally large go where they belong as their part ends. Rows of
// type BYTES wait, part by part, until Finish() knows where each begins.
//
// Thread safety: thread-compatible until Finish(). JoinBudget is thread-safe.
#ifndef FERRY_BATCHER_INTERNAL_JOINED_OUTPUT_H_
#define FERRY_BATCHER_INTERNAL_JOINED_OUTPUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "batcher/completion.h"
#include "tensor/output_buffer.h"

namespace ferry {

// Bytes of outputs that may be being joined at once; may outlive the batcher.
class JoinBudget {
 public:
  explicit JoinBudget(int64_t max_bytes) : left_(max_bytes) {}

  int64_t left() const { return left_.load(std::memory_order_relaxed); }
  bool TryTake(size_t bytes);
  void GiveBack(size_t bytes) {
    left_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }

 private:
  std::atomic<int64_t> left_;
};

class JoinedOutput final : public OutputBuffer {
 public:
  // For `rows` rows. Owned by its OutputRefs.
  JoinedOutput(int32_t rows, std::shared_ptr<JoinBudget> budget)
      : rows_(rows), budget_(std::move(budget)) {}

  bool crowded() const override { return false; }

  // Copies the rows of a part, the first of which is `first_row` of the whole.
  // Errors: RESOURCE_EXHAUSTED without memory; INTERNAL where they are shaped
  // otherwise than those of the first part that came.
  [[nodiscard]] Outcome Put(int32_t first_row, const OutputRows& rows);

  // All parts are there: gives the budget back. Errors: RESOURCE_EXHAUSTED
  // without memory.
  [[nodiscard]] Outcome Finish();

 private:
  using Bytes = std::unique_ptr<std::byte[]>;

  // Takes the bytes from the budget. Null without memory.
  Bytes Allocate(size_t bytes);
  // Makes room for rows shaped as `like`. Returns false without memory.
  bool Layout(const OutputRows& like);
  void Recycle() override;

  const int32_t rows_;
  const std::shared_ptr<JoinBudget> budget_;
  size_t taken_ = 0;            // of the budget
  std::vector<Bytes> storage_;  // [output]
  // Those of type BYTES: [output], by first row.
  std::vector<std::map<int32_t, std::pair<Bytes, size_t>>> pieces_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_JOINED_OUTPUT_H_
