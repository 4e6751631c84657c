// Infer() submits a request to a Scheduler from C++ in the same process,
// without gRPC, and returns a Future of its answer.
//
//   absl::StatusOr<Future> future = Infer(scheduler, {.inputs = views});
//   Reply reply = future->Get();        // waits
//
// Thread safety: Infer() is thread-safe. A Future belongs to one thread at a
// time; it may be moved, and ends before its scheduler.
#ifndef FERRY_BATCHER_FUTURE_H_
#define FERRY_BATCHER_FUTURE_H_

#include <cstdint>
#include <future>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "batcher/scheduler.h"
#include "tensor/output_buffer.h"
#include "tensor/tensor.h"

namespace ferry {

// How a request ended, with its rows when it went well.
struct Reply {
  Outcome outcome;
  OutputRef output;       // keeps the rows alive
  int32_t first_row = 0;  // of output
  int32_t rows = 0;
};

struct InferArguments {
  absl::Span<const TensorView> inputs;  // kept alive by the caller until Get()
  int32_t rows = 1;
  TimePoint deadline = kNever;
};

// The reader's side of one request's answer. Movable, used once.
class Future {
 public:
  Future(Future&& other) noexcept;
  Future& operator=(Future&& other) noexcept;
  // Waits for the answer if Get() has not: until then the inputs are in use.
  ~Future();

  // Returns whether Get() would return at once.
  bool IsReady() const;

  // Waits for the answer and returns it. REQUIRES: called once.
  Reply Get();

  // Asks for an end with CANCELLED; Get() still tells how it ended.
  // REQUIRES: before Get().
  void Cancel();

 private:
  friend absl::StatusOr<Future> Infer(Scheduler& scheduler,
                                      const InferArguments& arguments);
  class Call;

  Future(std::unique_ptr<Call> call, std::future<Reply> reply);

  std::unique_ptr<Call> call_;
  std::future<Reply> reply_;  // not valid: moved from, or after Get()
};

// Errors: those of Scheduler::Submit().
absl::StatusOr<Future> Infer(Scheduler& scheduler,
                             const InferArguments& arguments);

}  // namespace ferry

#endif  // FERRY_BATCHER_FUTURE_H_
