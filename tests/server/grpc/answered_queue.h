// AnsweredQueue is a completion queue of gRPC for the calls of a test, and the
// AnsweredCalls on it. The test's thread stands for the queue's.
//
// Thread safety: as AnsweredCalls.
#ifndef FERRY_TESTS_SERVER_GRPC_ANSWERED_QUEUE_H_
#define FERRY_TESTS_SERVER_GRPC_ANSWERED_QUEUE_H_

#include <grpcpp/completion_queue.h>

#include "server/grpc/infer_call.h"
#include "server/grpc/queue_tag.h"

namespace ferry {

class AnsweredQueue {
 public:
  ~AnsweredQueue() {
    calls_.AwaitPushes();
    queue_.Shutdown();
    while (HandleEvent()) {
    }
  }

  AnsweredCalls& calls() { return calls_; }

  // Waits for an event and handles it. False: the queue has shut down.
  bool HandleEvent() {
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok)) {
      return false;
    }
    calls_.FinishAll();
    static_cast<QueueTag*>(tag)->Ended(ok);
    return true;
  }

 private:
  grpc::CompletionQueue queue_;
  AnsweredCalls calls_{queue_};
};

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_GRPC_ANSWERED_QUEUE_H_
