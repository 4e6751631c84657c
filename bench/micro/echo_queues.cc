// Implements EchoQueues: calls posted ahead, matched, answered, posted again.
#include "bench/micro/echo_queues.h"

#include <functional>
#include <utility>

namespace ferry::bench {
namespace {

// Calls posted ahead on each queue, so that a burst is matched without a turn
// of the loop for each.
constexpr int kPostedCalls = 64;

// What a queue gives back.
class Tag {
 public:
  virtual void Proceed(bool ok) = 0;

 protected:
  ~Tag() = default;
};

// A small call: typed, answered at once; deletes itself.
template <typename Request, typename Reply>
class SmallCall final : private Tag {
 public:
  using Responder = grpc::ServerAsyncResponseWriter<Reply>;
  using Ask = std::function<void(grpc::ServerContext*, Request*, Responder*,
                                 grpc::ServerCompletionQueue*, void*)>;
  using Answer = std::function<grpc::Status(Reply*)>;

  SmallCall(Ask ask, Answer answer, grpc::ServerCompletionQueue* queue)
      : ask_(std::move(ask)), answer_(std::move(answer)), queue_(queue) {
    ask_(&context_, &request_, &responder_, queue_, static_cast<Tag*>(this));
  }

 private:
  void Proceed(bool ok) override {
    if (finishing_ || !ok) {
      delete this;
      return;
    }
    finishing_ = true;
    new SmallCall(ask_, answer_, queue_);
    Reply reply;
    const grpc::Status status = answer_(&reply);
    responder_.Finish(reply, status, static_cast<Tag*>(this));
  }

  const Ask ask_;
  const Answer answer_;
  grpc::ServerCompletionQueue* const queue_;
  bool finishing_ = false;
  grpc::ServerContext context_;
  Request request_;
  Responder responder_{&context_};
};

}  // namespace

// One ModelInfer, from its request to its finish; deletes itself.
class EchoQueues::Call final : private Tag {
 public:
  Call(EchoQueues* owner, grpc::ServerCompletionQueue* queue)
      : owner_(owner), queue_(queue), responder_(&context_) {
    owner_->service_->RequestModelInfer(&context_, &request_, &responder_,
                                        queue_, queue_,
                                        static_cast<Tag*>(this));
  }

 private:
  // The queue gave this call's tag back.
  void Proceed(bool ok) override {
    if (finishing_ || !ok) {
      delete this;
      return;
    }
    finishing_ = true;
    new Call(owner_, queue_);
    owner_->stand_in_->Run();
    responder_.Finish(owner_->answer_ == EchoAnswer::kFixed
                          ? AnswerWithId(owner_->reply_, request_)
                          : AnswerByCopy(owner_->model_, &request_),
                      grpc::Status::OK, static_cast<Tag*>(this));
  }

  EchoQueues* const owner_;
  grpc::ServerCompletionQueue* const queue_;
  bool finishing_ = false;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> responder_;
};

EchoQueues::EchoQueues(QueueEchoService* service, const EchoModel& model,
                       EchoAnswer answer, ModelStandIn* stand_in,
                       grpc::ServerBuilder* builder, int queue_count)
    : service_(service),
      model_(model),
      answer_(answer),
      reply_(MakeEchoReply(model)),
      stand_in_(stand_in) {
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
    PostSmallCalls(queue.get());
    threads_.emplace_back([this, &queue] { Serve(queue.get()); });
  }
}

void EchoQueues::PostSmallCalls(grpc::ServerCompletionQueue* queue) {
  const auto post =
      [this, queue]<typename Rpcs, typename Request, typename Reply>(
          void (Rpcs::*ask)(grpc::ServerContext*, Request*,
                            grpc::ServerAsyncResponseWriter<Reply>*,
                            grpc::CompletionQueue*,
                            grpc::ServerCompletionQueue*, void*),
          std::function<void(Reply*)> fill) {
        new SmallCall<Request, Reply>(
            [this, ask](grpc::ServerContext* context, Request* request,
                        grpc::ServerAsyncResponseWriter<Reply>* responder,
                        grpc::ServerCompletionQueue* its_queue, void* tag) {
              (service_->*ask)(context, request, responder, its_queue,
                               its_queue, tag);
            },
            [fill = std::move(fill)](Reply* reply) {
              if (fill == nullptr) {
                return grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                                    "grpc-echo does not offer it");
              }
              fill(reply);
              return grpc::Status::OK;
            },
            queue);
      };
  using Service = QueueEchoService;
  using std::function;
  post(&Service::RequestServerLive,
       function([](inference::ServerLiveResponse* r) { r->set_live(true); }));
  post(&Service::RequestServerReady,
       function([](inference::ServerReadyResponse* r) { r->set_ready(true); }));
  post(&Service::RequestModelReady,
       function([](inference::ModelReadyResponse* r) { r->set_ready(true); }));
  post(&Service::RequestServerMetadata, function(&FillEchoServerMetadata));
  post(&Service::RequestModelMetadata,
       function([this](inference::ModelMetadataResponse* r) {
         FillEchoMetadata(model_, r);
       }));
  post(&Service::RequestModelConfig,
       function([this](inference::ModelConfigResponse* r) {
         FillEchoConfig(model_, r);
       }));
  post(&Service::RequestModelStatistics,
       function<void(inference::ModelStatisticsResponse*)>());
  post(&Service::RequestRepositoryIndex,
       function<void(inference::RepositoryIndexResponse*)>());
}

void EchoQueues::Serve(grpc::ServerCompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Tag*>(tag)->Proceed(ok);
}

}  // namespace ferry::bench
