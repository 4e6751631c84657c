// InProcessClient submits requests to a Scheduler from C++ in the same process,
// without gRPC, and answers each through a Future of its own.
//
//   InProcessClient client(scheduler, 64);
//   absl::StatusOr<Future> future =
//       client.Submit({.inputs = views, .rows = 1});
//   Reply reply = future->Get();        // waits
//
// Nothing is allocated per request: the calls live in the client's pool.
//
// Thread safety: InProcessClient is thread-safe. A Future belongs to one thread
// at a time; it may be moved. Futures must end before their client does.
#ifndef FERRY_BATCHER_FUTURE_H_
#define FERRY_BATCHER_FUTURE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/mutex.h"
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

class InProcessCall;

// The reader's side of one request's answer. Movable, used once.
class Future {
 public:
  explicit Future(InProcessCall& call) : call_(&call) {}
  Future(Future&& other) noexcept
      : call_(std::exchange(other.call_, nullptr)) {}
  Future& operator=(Future&& other) noexcept {
    std::swap(call_, other.call_);
    return *this;
  }
  // Waits for the answer if Get() has not: until then the inputs are in use.
  ~Future();

  // Returns whether Get() would return at once.
  bool IsReady() const;

  // Waits for the answer and returns it. REQUIRES: called once.
  Reply Get();

  // Asks for an end with CANCELLED; Get() still tells how it ended.
  void Cancel();

 private:
  InProcessCall* call_;
};

class InProcessClient {
 public:
  // At most `max_calls` requests are under way at once. `scheduler` outlives
  // it.
  InProcessClient(Scheduler& scheduler, int32_t max_calls);

  // REQUIRES: every Future has ended.
  ~InProcessClient();

  // Errors: those of Scheduler::Submit(); RESOURCE_EXHAUSTED where max_calls
  // are under way.
  absl::StatusOr<Future> Submit(const InferArguments& arguments);

 private:
  friend class InProcessCall;

  void Return(InProcessCall& call);

  Scheduler& scheduler_;
  const int32_t max_calls_;
  Mutex mutex_;
  std::vector<InProcessCall*> idle_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<InProcessCall>> calls_;  // constant
};

}  // namespace ferry

#endif  // FERRY_BATCHER_FUTURE_H_
