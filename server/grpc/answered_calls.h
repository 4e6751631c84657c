// AnsweredCalls brings calls that a scheduler has answered back to the thread
// of their completion queue, which sends what is not sent, and ends the call.
//
// So one thread alone begins, cancels, ends and clears a call. To bring it back
// costs the batcher thread a push, and an event of gRPC's for the first of
// several: two short locks and a write to an eventfd.
//
// Why no call is forgotten: Push() pushes, then asks for an event unless one is
// under way; the event says that none is under way, then the thread takes what
// was pushed. So a call that was pushed after the thread looked asks anew.
// A thread that stops between push and event delays those that push after it
// until it goes on, or another event comes.
//
// Thread safety: Push() from any thread, the rest on the queue's thread.
#ifndef FERRY_SERVER_GRPC_ANSWERED_CALLS_H_
#define FERRY_SERVER_GRPC_ANSWERED_CALLS_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>

#include "base/push_list.h"
#include "server/grpc/infer_call.h"
#include "server/grpc/queue_tag.h"

namespace ferry {

class AnsweredCalls final : private QueueTag {
 public:
  // The queue outlives this.
  explicit AnsweredCalls(grpc::CompletionQueue& queue) : queue_(queue) {}

  // REQUIRES: the queue is not shut down.
  void Push(InferCall& call);

  // Waits until each Push() that has begun has returned. Before the queue is
  // shut down: its thread may finish a call whose event is still being asked
  // for.
  void AwaitPushes() const;

  // Finishes the calls that were pushed, oldest first. The queue's thread calls
  // it before each of its events, so that an answer is not kept waiting by what
  // has just been received.
  void FinishAll();

 private:
  void Ended(bool) override {
    is_event_under_way_.store(false, std::memory_order_seq_cst);
    FinishAll();
  }

  grpc::CompletionQueue& queue_;
  PushList<InferCall, &InferCall::next_answered> calls_;
  std::atomic<bool> is_event_under_way_{false};
  std::atomic<int32_t> pushes_{0};  // that have begun and not returned
  grpc::Alarm event_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_ANSWERED_CALLS_H_
