// UnaryService serves the small unary RPCs of a generated service on completion
// queues: answered at once by a function on the queue's thread, or late, by any
// thread, where the answer takes its time.
//
// Bounds: a message has at most the bytes that its RPC may have, which is
// looked at before it is parsed; a reply counts as unsent until gRPC has
// written it, and one that is not small is refused where those that clients do
// not read leave no room.
//
// A call that only the scope admin allows is told before it is answered.
//
// Life of a UnaryCall: asked for; matched with a client's, when it asks for the
// next one and is answered; sent, and deleted. At shutdown the one that was
// never matched is deleted.
//
// Thread safety: all on the queue's thread, but a late answer may come from
// any. REQUIRES: every late answer comes before the queue is shut down.
// Errors: INVALID_ARGUMENT for a message that is too large or malformed;
// RESOURCE_EXHAUSTED for a reply that finds no room.
#ifndef FERRY_SERVER_GRPC_UNARY_CALL_H_
#define FERRY_SERVER_GRPC_UNARY_CALL_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "server/auth/scope.h"
#include "server/grpc/grpc_infer_call.h"
#include "server/grpc/queue_tag.h"
#include "server/grpc/unsent_replies.h"

namespace ferry {

// What the requests of small RPCs have at most: names and settings.
inline constexpr size_t kMaxSmallMessageBytes = size_t{64} << 10;

// Tells the log of a call, by its path, as "/ferry.v1.Admin/Drain".
using CallTeller =
    std::function<void(const std::string& path, const grpc::ServerContext&)>;

class UnaryCall final : private QueueTag, private UnsentReplies::Reply {
 public:
  // Called once. A status that is not ok is sent without the response.
  using Reply = std::function<void(const grpc::Status&, grpc::ByteBuffer&)>;

  // What one RPC is: how gRPC is asked for a call, and the answer.
  struct Method {
    UnsentReplies& unsent;
    std::function<void(grpc::ServerContext&, grpc::ByteBuffer&, InferResponder&,
                       grpc::ServerCompletionQueue&, void* tag)>
        ask;
    std::function<void(grpc::ByteBuffer& message, const grpc::ServerContext&,
                       const Reply&)>
        answer;
    std::string path;
    CallTeller tell;  // or none
  };

  // Deletes itself.
  static void Post(std::shared_ptr<const Method> method,
                   grpc::ServerCompletionQueue& queue) {
    new UnaryCall(std::move(method), queue);
  }

 private:
  UnaryCall(std::shared_ptr<const Method> method,
            grpc::ServerCompletionQueue& queue);
  ~UnaryCall() = default;

  void Ended(bool ok) override;
  void Send(const grpc::Status& status, grpc::ByteBuffer& response);
  void Drop() override { context_.TryCancel(); }

  const std::shared_ptr<const Method> method_;
  grpc::ServerCompletionQueue& queue_;
  bool is_matched_ = false;
  grpc::ServerContext context_;
  grpc::ByteBuffer message_;
  InferResponder responder_{&context_};
};

// Returns OK for a message that a request of that type may be, by its size.
grpc::Status CheckSize(const google::protobuf::Descriptor& request,
                       const grpc::ByteBuffer& message, size_t max_bytes);
grpc::Status MalformedMessage(const google::protobuf::Descriptor& request);

// Parses a message of at most `max_bytes`, and clears it.
template <typename Request>
grpc::Status ParseMessage(grpc::ByteBuffer& message, size_t max_bytes,
                          Request& request) {
  grpc::Status status = CheckSize(*Request::descriptor(), message, max_bytes);
  if (status.ok() &&
      !grpc::SerializationTraits<Request>::Deserialize(&message, &request)
           .ok()) {
    status = MalformedMessage(*Request::descriptor());
  }
  message.Clear();
  return status;
}

// Returns the first RPC of that request.
const google::protobuf::MethodDescriptor& RpcOf(
    const google::protobuf::Descriptor& request);

// Returns its path, as "/ferry.v1.Admin/Drain".
std::string PathOf(const google::protobuf::MethodDescriptor& rpc);

// `Generated` is an AsyncService of gRPC's generated code, of which no two
// unary RPCs have requests of one type.
template <typename Generated>
class UnaryService : public Generated, public QueuedService {
 public:
  // `unsent` outlives the calls; `tell` may be none.
  explicit UnaryService(UnsentReplies& unsent, CallTeller tell = {})
      : unsent_(unsent), tell_(std::move(tell)) {}

 protected:
  // Serves the RPC of that request until the server is shut down.
  // `answer(request, response, call, reply)` calls `reply(status)` once, from
  // any thread; request and response live as long as it holds `reply`. `call`,
  // its gRPC context, is valid until `reply` is called.
  template <typename Request, typename Response, typename Answer>
  void PostLateCalls(grpc::ServerCompletionQueue& queue, Answer answer,
                     size_t max_message_bytes = kMaxSmallMessageBytes) {
    const google::protobuf::MethodDescriptor& rpc =
        RpcOf(*Request::descriptor());
    std::string path = PathOf(rpc);
    CallTeller tell = ScopeOf(path) == Scope::kAdmin ? tell_ : CallTeller();
    auto ask = [this, index = rpc.index()](
                   grpc::ServerContext& context, grpc::ByteBuffer& message,
                   InferResponder& responder,
                   grpc::ServerCompletionQueue& its_queue, void* tag) {
      this->RequestAsyncUnary(index, &context, &message, &responder, &its_queue,
                              &its_queue, tag);
    };
    UnaryCall::Post(std::make_shared<const UnaryCall::Method>(UnaryCall::Method{
                        .unsent = unsent_,
                        .ask = std::move(ask),
                        .answer = Typed<Request, Response>(std::move(answer),
                                                           max_message_bytes),
                        .path = std::move(path),
                        .tell = std::move(tell)}),
                    queue);
  }

  // The same for what is answered at once: `answer(request, response)`, or
  // `answer(request, response, call)`, returns the status.
  template <typename Request, typename Response, typename Answer>
  void PostUnaryCalls(grpc::ServerCompletionQueue& queue, Answer answer) {
    PostLateCalls<Request, Response>(
        queue, [answer = std::move(answer)](
                   const Request& request, Response& response,
                   const grpc::ServerContext& call, const auto& reply) {
          if constexpr (std::is_invocable_v<decltype(answer), const Request&,
                                            Response&,
                                            const grpc::ServerContext&>) {
            reply(answer(request, response, call));
          } else {
            reply(answer(request, response));
          }
        });
  }

 private:
  // Parses the request and writes the response.
  template <typename Request, typename Response, typename Answer>
  static auto Typed(Answer answer, size_t max_message_bytes) {
    return [answer = std::move(answer), max_message_bytes](
               grpc::ByteBuffer& message, const grpc::ServerContext& call,
               const UnaryCall::Reply& reply) {
      struct Messages {
        Request request;
        Response response;
      };
      auto messages = std::make_shared<Messages>();
      const grpc::Status parsed =
          ParseMessage(message, max_message_bytes, messages->request);
      if (!parsed.ok()) {
        grpc::ByteBuffer none;
        reply(parsed, none);
        return;
      }
      answer(std::as_const(messages->request), messages->response, call,
             [messages, reply](const grpc::Status& status) {
               grpc::ByteBuffer response;
               grpc::Status sent = status;
               if (sent.ok()) {
                 bool is_owned = false;
                 sent = grpc::SerializationTraits<Response>::Serialize(
                     messages->response, &response, &is_owned);
               }
               reply(sent, response);
             });
    };
  }

  UnsentReplies& unsent_;
  const CallTeller tell_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_UNARY_CALL_H_
