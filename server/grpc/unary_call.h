// PostUnaryCalls() serves a small unary RPC on a completion queue: typed,
// answered at once by a function on the queue's thread. PostLateCalls() serves
// one whose answer takes its time.
//
// Life of a call: asked for; matched with a client's, when it asks for the next
// one and is answered; sent, and deleted. At shutdown the one that was never
// matched is deleted.
//
// Thread safety: all on the queue's thread, but a late answer may come from
// any. REQUIRES: every late answer comes before the queue is shut down.
#ifndef FERRY_SERVER_GRPC_UNARY_CALL_H_
#define FERRY_SERVER_GRPC_UNARY_CALL_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <utility>

#include "server/grpc/queue_tag.h"

namespace ferry {

template <typename Request, typename Response>
class UnaryCall final : private QueueTag {
 public:
  using Responder = grpc::ServerAsyncResponseWriter<Response>;

  // Called once, when the response is filled. A status that is not ok is sent
  // without it.
  using Reply = std::function<void(const grpc::Status&)>;

  // What one RPC is: how gRPC is asked for a call, and the answer. Request and
  // response live until the reply.
  struct Method {
    std::function<void(grpc::ServerContext&, Request&, Responder&,
                       grpc::ServerCompletionQueue&, void* tag)>
        ask;
    std::function<void(const Request&, Response&, Reply)> answer;
  };

  // Deletes itself.
  static void Post(std::shared_ptr<const Method> method,
                   grpc::ServerCompletionQueue& queue) {
    new UnaryCall(std::move(method), queue);
  }

 private:
  UnaryCall(std::shared_ptr<const Method> method,
            grpc::ServerCompletionQueue& queue)
      : method_(std::move(method)), queue_(queue) {
    method_->ask(context_, request_, responder_, queue_, Tag());
  }
  ~UnaryCall() = default;

  void* Tag() { return static_cast<QueueTag*>(this); }

  void Ended(bool ok) override {
    if (is_matched_ || !ok) {
      delete this;
      return;
    }
    is_matched_ = true;
    Post(method_, queue_);
    method_->answer(request_, response_, [this](const grpc::Status& status) {
      if (status.ok()) {
        responder_.Finish(response_, status, Tag());
      } else {
        responder_.FinishWithError(status, Tag());
      }
    });
  }

  const std::shared_ptr<const Method> method_;
  grpc::ServerCompletionQueue& queue_;
  bool is_matched_ = false;
  grpc::ServerContext context_;
  Request request_;
  Response response_;
  Responder responder_{&context_};
};

// How the generated code is asked for a call of a unary RPC.
template <typename Rpcs, typename Request, typename Response>
using AskForCall = void (Rpcs::*)(grpc::ServerContext*, Request*,
                                  grpc::ServerAsyncResponseWriter<Response>*,
                                  grpc::CompletionQueue*,
                                  grpc::ServerCompletionQueue*, void*);

// Serves the RPC that `ask` names, on `queue`, until the server is shut down.
// `service` outlives the calls; `answer` is as in UnaryCall::Method.
template <typename Service, typename Rpcs, typename Request, typename Response,
          typename Answer>
void PostLateCalls(Service& service, AskForCall<Rpcs, Request, Response> ask,
                   Answer answer, grpc::ServerCompletionQueue& queue) {
  using Call = UnaryCall<Request, Response>;
  auto ask_it = [&service, ask](grpc::ServerContext& context, Request& request,
                                typename Call::Responder& responder,
                                grpc::ServerCompletionQueue& its_queue,
                                void* tag) {
    (service.*ask)(&context, &request, &responder, &its_queue, &its_queue, tag);
  };
  Call::Post(std::make_shared<const typename Call::Method>(
                 typename Call::Method{std::move(ask_it), std::move(answer)}),
             queue);
}

// Posts what PostLateCalls() does; `answer` takes request and response and
// returns the status.
template <typename Service, typename Rpcs, typename Request, typename Response,
          typename Answer>
void PostUnaryCalls(Service& service, AskForCall<Rpcs, Request, Response> ask,
                    Answer answer, grpc::ServerCompletionQueue& queue) {
  PostLateCalls(
      service, ask,
      [answer](const Request& request, Response& response, const auto& reply) {
        reply(answer(request, response));
      },
      queue);
}

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_UNARY_CALL_H_
