// Implements AnsweredCalls: a list of calls, and the event that announces it.
#include "server/grpc/answered_calls.h"

#include <thread>
#include <utility>

namespace ferry {

void AnsweredCalls::Push(InferCall& call) {
  pushes_.fetch_add(1, std::memory_order_seq_cst);
  calls_.Push(call);  // from now on the call may be gone
  if (!is_event_under_way_.exchange(true, std::memory_order_seq_cst)) {
    event_.Set(&queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC),
               static_cast<QueueTag*>(this));
  }
  pushes_.fetch_sub(1, std::memory_order_seq_cst);
}

void AnsweredCalls::AwaitPushes() const {
  while (pushes_.load(std::memory_order_seq_cst) > 0) {
    std::this_thread::yield();
  }
}

void AnsweredCalls::FinishAll() {
  if (calls_.empty()) {
    return;
  }
  InferCall* next = calls_.TakeAll();
  while (next != nullptr) {
    InferCall& call = *std::exchange(next, next->next_answered);
    call.Finish();
  }
}

}  // namespace ferry
