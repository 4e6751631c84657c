// The loop over one completion queue.
#include "server/infer_queue.h"

#include <pthread.h>

#include <utility>

#include "batcher/check.h"

namespace ferry {
namespace {

// The queue whose thread this is, or null.
thread_local const void* of_this_thread = nullptr;

}  // namespace

InferQueue::InferQueue(ModelTable& models, StatusCodes codes,
                       const Sources& sources, UnsentReplies& unsent,
                       std::vector<QueuedService*> others,
                       grpc::ServerBuilder& builder)
    : models_(models),
      environment_{.models = models_, .codes = codes},
      service_(sources.calls),
      unsent_(unsent),
      others_(std::move(others)),
      queue_(builder.AddCompletionQueue()),
      stream_environment_{.infer = environment_,
                          .unsent = unsent,
                          .source = sources.streams,
                          .queue = *queue_} {}

InferQueue::~InferQueue() {
  Check(!thread_.joinable(), "the queue is stopped before it is destroyed");
  while (GrpcInferCall* const call = TakeIdle()) {
    delete call;
  }
}

void InferQueue::Start() {
  thread_ = std::thread([this] { Run(); });
}

void InferQueue::Stop() {
  if (!thread_.joinable()) {  // never started
    queue_->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
    }
    return;
  }
  stop_alarm_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), nullptr);
  thread_.join();
}

void InferQueue::Run() {
  pthread_setname_np(pthread_self(), "ferry-infer");
  of_this_thread = this;
  for (QueuedService* other : others_) {
    other->PostCalls(*queue_);
  }
  InferStream::Post(stream_environment_);
  for (int i = 0; i < kPostedCalls; ++i) {
    PostNext();
  }
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    if (tag == nullptr) {  // of stop_alarm_
      queue_->Shutdown();
      continue;
    }
    static_cast<QueueTag*>(tag)->Ended(ok);
  }
}

void InferQueue::PostNext() {
  GrpcInferCall* call = TakeIdle();
  if (call == nullptr) {
    call = new GrpcInferCall(environment_, unsent_, *this);
  }
  call->Post(service_, *queue_);
}

GrpcInferCall* InferQueue::TakeIdle() {
  if (idle_ == nullptr) {
    idle_ = given_back_.TakeAll();
    if (idle_ == nullptr) {
      return nullptr;
    }
  }
  idle_count_.fetch_sub(1, std::memory_order_relaxed);
  return std::exchange(idle_, idle_->next_idle);
}

void InferQueue::GiveBack(GrpcInferCall& call) {
  if (idle_count_.fetch_add(1, std::memory_order_relaxed) >= kMaxIdleCalls) {
    idle_count_.fetch_sub(1, std::memory_order_relaxed);
    delete &call;
    return;
  }
  if (of_this_thread == this) {
    call.next_idle = std::exchange(idle_, &call);  // last in, first out: warm
  } else {
    given_back_.Push(call);
  }
}

}  // namespace ferry
