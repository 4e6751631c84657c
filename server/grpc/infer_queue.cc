// Implements InferQueue: the loop over one completion queue.
#include "server/grpc/infer_queue.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "base/check.h"
#include "server/control/thread_watch.h"

namespace ferry {

InferQueue::InferQueue(ModelTable& models, StatusCodes codes,
                       const Sources& sources, UnsentReplies& unsent,
                       std::vector<QueuedService*> others,
                       grpc::ServerBuilder& builder)
    : models_(models),
      service_(sources.calls),
      load_(sources.load),
      unsent_(unsent),
      others_(std::move(others)),
      queue_(builder.AddCompletionQueue()),
      answered_(*queue_),
      environment_{.models = models_,
                   .answered = answered_,
                   .codes = codes,
                   .tracer = sources.tracer,
                   .memory = sources.memory,
                   .shares = sources.shares,
                   .regions = sources.regions,
                   .max_region_bytes = sources.max_region_bytes,
                   .name_of_client = sources.name_of_client},
      stream_environment_{.infer = environment_,
                          .unsent = unsent,
                          .source = sources.streams,
                          .queue = *queue_,
                          .open = open_streams_} {
  idle_.reserve(kMaxIdleCalls);
}

InferQueue::~InferQueue() {
  Check(!thread_.joinable(), "the queue is stopped before it is destroyed");
}

void InferQueue::Start() {
  thread_ = std::thread([this] { Run(); });
  Check(pthread_getcpuclockid(thread_.native_handle(), &cpu_clock_) == 0,
        "a thread that runs has a clock");
}

Duration InferQueue::cpu_time() const {
  timespec time{};
  clock_gettime(cpu_clock_, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

void InferQueue::EndStreams() {
  end_streams_alarm_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC),
                         end_streams_.get());
}

void InferQueue::OnEndStreams(bool) {
  open_streams_.must_end = true;
  for (InferStream* stream : open_streams_.streams) {
    stream->EndSoon();
  }
}

// Comes again until the queue stops.
void InferQueue::OnTurn(bool) {
  turned_.store(Clock::Steady().Now(), std::memory_order_relaxed);
  if (!is_stopping_) {
    turn_alarm_.Set(queue_.get(),
                    gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                 gpr_time_from_nanos(ThreadWatch::kTurn.count(),
                                                     GPR_TIMESPAN)),
                    turn_.get());
  }
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
  answered_.AwaitPushes();  // of calls that have ended meanwhile
  stop_alarm_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), nullptr);
  thread_.join();
}

void InferQueue::Run() {
  pthread_setname_np(pthread_self(), "ferry-infer");
  for (QueuedService* other : others_) {
    other->PostCalls(*queue_);
  }
  InferStream::Post(stream_environment_);
  for (int i = 0; i < kPostedCalls; ++i) {
    PostNext();
  }
  OnTurn(true);
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    answered_.FinishAll();
    if (tag == nullptr) {  // of stop_alarm_
      is_stopping_ = true;
      turn_alarm_.Cancel();
      queue_->Shutdown();
      continue;
    }
    static_cast<QueueTag*>(tag)->Ended(ok);
  }
}

void InferQueue::PostNext() {
  // A call that waits for its match belongs to gRPC, and comes back with it.
  GrpcInferCall* call = nullptr;
  if (idle_.empty()) {
    call = new GrpcInferCall(environment_, unsent_, *this, load_);
  } else {
    call = idle_.back().release();  // last in, first out: warm
    idle_.pop_back();
  }
  call->Post(service_, *queue_);
}

void InferQueue::GiveBack(GrpcInferCall& call) {
  std::unique_ptr<GrpcInferCall> idle(&call);
  if (idle_.size() < kMaxIdleCalls) {
    idle_.push_back(std::move(idle));
  }
}

}  // namespace ferry
