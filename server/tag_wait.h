// TagWait: how a queue's thread takes what gRPC's completion queue gives, and
// waits for it: after work of another kind than gRPC's it polls, where requests
// come that close (idle_wait.h); else it sleeps in gRPC.
//
// Thread safety: thread-compatible; the queue's thread's.
#ifndef FERRY_SERVER_TAG_WAIT_H_
#define FERRY_SERVER_TAG_WAIT_H_

#include <grpcpp/completion_queue.h>

#include "batcher/clock.h"
#include "batcher/idle_wait.h"

namespace ferry {

class TagWait {
 public:
  using Look = grpc::CompletionQueue::NextStatus;

  // The queue outlives it.
  explicit TagWait(grpc::CompletionQueue& queue) : queue_(queue) {}

  // Takes what is there; does not wait for it (TIMEOUT: nothing is).
  Look TryNext(void*& tag, bool& ok) {
    return queue_.AsyncNext(&tag, &ok, gpr_time_0(GPR_CLOCK_MONOTONIC));
  }

  // Waits for the next tag. False: the queue is shut down, and empty.
  bool Next(void*& tag, bool& ok);

  // A batch has been run. The wait after it may poll for so long.
  void WorkEnded(Duration max_poll) { idle_.WorkEnded(max_poll); }

  // A request came: what was waited for.
  void RequestCame() {
    if (idle_.has_waited()) {
      idle_.NewsCame(Clock::Steady().Now());
    }
  }

 private:
  grpc::CompletionQueue& queue_;
  IdleWait idle_{Duration(0)};
};

}  // namespace ferry

#endif  // FERRY_SERVER_TAG_WAIT_H_
