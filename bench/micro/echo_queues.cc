// Calls posted ahead, matched, answered, posted again.
#include "bench/micro/echo_queues.h"

namespace ferry::bench {
namespace {

// Calls posted ahead on each queue, so that a burst is matched without a turn
// of the loop for each.
constexpr int kPostedCalls = 64;

}  // namespace

// One call, from its request to its finish; deletes itself.
class EchoQueues::Call {
 public:
  Call(EchoQueues* owner, grpc::ServerCompletionQueue* queue)
      : owner_(owner), queue_(queue), responder_(&context_) {
    owner_->service_->RequestModelInfer(&context_, &request_, &responder_,
                                        queue_, queue_, this);
  }

  // The queue gave this call's tag back.
  void Proceed(bool ok) {
    if (finishing_ || !ok) {
      delete this;
      return;
    }
    finishing_ = true;
    new Call(owner_, queue_);
    owner_->reader_->Read();
    responder_.Finish(AnswerWithId(owner_->reply_, request_), grpc::Status::OK,
                      this);
  }

 private:
  EchoQueues* const owner_;
  grpc::ServerCompletionQueue* const queue_;
  bool finishing_ = false;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> responder_;
};

EchoQueues::EchoQueues(QueueEchoService* service, const EchoModel& model,
                       MemoryReader* reader, grpc::ServerBuilder* builder,
                       int queue_count)
    : service_(service), reply_(MakeEchoReply(model)), reader_(reader) {
  for (int i = 0; i < queue_count; ++i) {
    queues_.push_back(builder->AddCompletionQueue());
  }
}

EchoQueues::~EchoQueues() {
  for (auto& queue : queues_) queue->Shutdown();
  for (auto& thread : threads_) thread.join();
}

void EchoQueues::Start() {
  for (auto& queue : queues_) {
    for (int i = 0; i < kPostedCalls; ++i) new Call(this, queue.get());
    threads_.emplace_back([this, &queue] { Serve(queue.get()); });
  }
}

void EchoQueues::Serve(grpc::ServerCompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Call*>(tag)->Proceed(ok);
}

}  // namespace ferry::bench
