// SplitRequest serves a request of more rows than a batch holds, in parts.
//
// Each part is queued, batched and gathered as a request of its own. Its result
// rows are copied to where those of the whole are joined, and the last part to
// end tells the owner. The first error of a part is the whole's, and the owner
// hears of it at once (Completion::FailEarly); the parts that still wait are
// dropped when their batch would close. The parts share the received message:
// its bytes are released when the last of them has ended.
//
// Memory: rows count against a JoinBudget until all parts are joined.
//
// Lifetime: the whole owns it, from Submit() until its owner has been told.
//
// Thread safety: Join() and IsOfNoUse() from any thread; the rest is constant.
#ifndef FERRY_BATCHER_INTERNAL_SPLIT_REQUEST_H_
#define FERRY_BATCHER_INTERNAL_SPLIT_REQUEST_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "batcher/infer_request.h"
#include "batcher/internal/admission.h"
#include "batcher/internal/joined_output.h"
#include "tensor/output_buffer.h"

namespace ferry {

class SplitRequest {
 public:
  // One batch's worth of the rows, in order.
  struct Part final : InferRequest {
    int32_t first_row = 0;  // of the whole
    std::vector<TensorView> its_inputs;
    std::vector<std::vector<ByteSegment>> its_segments;  // [input]
  };

  // How many parts a request of `rows` has.
  static int32_t PartsOf(int32_t rows, int32_t max_part_rows) {
    return (rows - 1) / max_part_rows + 1;
  }

  // `whole` and `admission` outlive this. REQUIRES: each input has whole.rows
  // rows, of the same size or of elements of type BYTES that are all there.
  SplitRequest(InferRequest& whole, int32_t max_part_rows, Admission& admission,
               std::shared_ptr<JoinBudget> budget);

  // Gives the parts the stamps of the whole. Before they are queued.
  void Stamp();

  absl::Span<Part> parts() { return absl::MakeSpan(parts_); }

  // Takes the result of a part; tells the owner of the first error while others
  // have not ended. The last releases the bytes of the whole and returns its
  // result; the rows live as long as this. Errors: the parts', JoinedOutput's.
  std::optional<RequestResult> Join(const InferRequest& part,
                                    const RequestResult& result)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells the owner of the whole what Join() returned, and ends this.
  void Respond(const RequestResult& result);

  // Whether parts that have not ended are of no use: one has failed, or the
  // client has gone.
  bool IsOfNoUse() const {
    return has_failed_.load(std::memory_order_relaxed) ||
           whole_.cancelled.load(std::memory_order_seq_cst);
  }

 private:
  // Counts a part as ended; returns what Join() does.
  std::optional<RequestResult> PartEnded()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  InferRequest& whole_;
  Admission& admission_;
  std::vector<Part> parts_;
  std::atomic<bool> has_failed_{false};
  Mutex mutex_;
  size_t not_ended_ ABSL_GUARDED_BY(mutex_);
  Outcome outcome_ ABSL_GUARDED_BY(mutex_);
  Duration compute_ ABSL_GUARDED_BY(mutex_){0};  // of the parts that ended
  JoinedOutput& joined_ ABSL_GUARDED_BY(mutex_);
  const OutputRef joined_ref_;  // keeps it
};

// Takes the result of a request that has ended. Returns what its owner is to be
// told; nothing for a part while other parts have not ended.
inline std::optional<RequestResult> JoinResult(InferRequest& request,
                                               const RequestResult& result) {
  return request.part_of == nullptr ? result
                                    : request.part_of->Join(request, result);
}

// Tells the owner of the request, or of its whole, what JoinResult() returned.
// Nothing may touch the request afterwards.
inline void Respond(InferRequest& request, const RequestResult& result) {
  if (request.part_of == nullptr) {
    request.completion->Respond(result);
  } else {
    request.part_of->Respond(result);
  }
}

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_SPLIT_REQUEST_H_
