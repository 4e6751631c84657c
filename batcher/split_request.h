// SplitRequest: a request of more rows than a batch holds, served in parts.
//
// Each part is queued, batched and staged as a request of its own; its rows are
// copied to where those of the whole are joined, and the last part to end tells
// the owner. The first error is the whole's: parts that still wait are then
// dropped when their batch would close.
//
// Memory: the joined rows of all requests count against a JoinBudget.
//
// Lifetime: owned by the whole, from Submit() until its last hold is given
// back; the parts together are one of its holds.
//
// Thread safety: Join() and PartReleased() from any thread; the rest is
// constant after construction.
// Errors: RESOURCE_EXHAUSTED where the budget has no room for the joined rows;
// INTERNAL where the model gave parts of one request outputs of different
// shapes.
#ifndef FERRY_BATCHER_SPLIT_REQUEST_H_
#define FERRY_BATCHER_SPLIT_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "batcher/infer_request.h"
#include "batcher/joined_output.h"
#include "batcher/mutex.h"
#include "batcher/output_buffer.h"

namespace ferry {

class SplitRequest {
 public:
  // One batch's worth of the rows, in order.
  struct Part final : InferRequest {
    int32_t first_row = 0;  // of the whole
    std::vector<TensorView> its_inputs;
    std::vector<Run> its_runs;
  };

  // How many parts a request of `rows` has.
  static int32_t PartsOf(int32_t rows, int32_t max_part_rows) {
    return (rows - 1) / max_part_rows + 1;
  }

  // `whole` outlives this. REQUIRES: each of its inputs has whole.rows rows, of
  // the same size or of elements of type BYTES that are all there.
  SplitRequest(InferRequest& whole, int32_t max_part_rows,
               std::shared_ptr<JoinBudget> budget);

  // Gives the parts the stamps of the whole. Before they are queued.
  void Stamp();

  absl::Span<Part> parts() { return absl::MakeSpan(parts_); }

  // A part has ended so. Returns how the whole has, where it was the last; the
  // rows live as long as this.
  std::optional<Ending> Join(const InferRequest& part, const Ending& ending)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether a part has failed, so that the others are of no use.
  bool has_failed() const {
    return has_failed_.load(std::memory_order_relaxed);
  }

  // Nothing points to a part any more; after the last one, to none.
  void PartReleased();

 private:
  // Where the rows are joined; null, and why in `outcome`, where they cannot
  // be.
  JoinedOutput* RoomFor(const OutputRows& rows, Outcome& outcome)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Outcome Copy(const Part& part, const OutputRows& rows);

  InferRequest& whole_;
  const std::shared_ptr<JoinBudget> budget_;
  std::vector<Part> parts_;
  std::atomic<bool> has_failed_{false};
  std::atomic<int32_t> unreleased_;
  Mutex mutex_;
  int32_t not_ended_ ABSL_GUARDED_BY(mutex_);
  Outcome outcome_ ABSL_GUARDED_BY(mutex_);
  JoinedOutput* joined_ ABSL_GUARDED_BY(mutex_) = nullptr;
  OutputRef joined_ref_ ABSL_GUARDED_BY(mutex_);  // keeps it
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SPLIT_REQUEST_H_
