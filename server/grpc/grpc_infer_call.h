// GrpcInferCall serves one ModelInfer over gRPC's asynchronous API, then the
// next.
//
// After Post() the queue gives `matched`, with ok = false where the server was
// shut down first: then nothing else follows. After a match it gives `done`
// and, once the reply was handed to it, `sent`; the InferCall says Ended(). The
// last of the three gives the call back to its pool.
//
// Thread safety: all on the queue's thread, but SendReply(), SendError() and
// Drop().
#ifndef FERRY_SERVER_GRPC_GRPC_INFER_CALL_H_
#define FERRY_SERVER_GRPC_GRPC_INFER_CALL_H_

#include <grpcpp/impl/serialization_traits.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <optional>

#include "server/grpc/endpoint_load.h"
#include "server/grpc/infer_call.h"
#include "server/grpc/queue_tag.h"
#include "server/grpc/unsent_replies.h"

namespace ferry {

class GrpcInferCall;

// Where a call returns when it has ended, and where the next one comes from.
class InferCallPool {
 public:
  virtual void GiveBack(GrpcInferCall& call) = 0;
  virtual void PostNext() = 0;

 protected:
  ~InferCallPool() = default;
};

// A reply that gRPC takes over; a ByteBuffer it would copy, slice by slice.
struct TakenReply {
  mutable grpc::ByteBuffer bytes;
};

using InferResponder = grpc::ServerAsyncResponseWriter<TakenReply>;

// Where calls come from: the service's RequestModelInfer.
class InferRpcSource {
 public:
  virtual void Request(grpc::ServerContext& context, grpc::ByteBuffer& message,
                       InferResponder& responder,
                       grpc::ServerCompletionQueue& queue, void* tag) = 0;

 protected:
  ~InferRpcSource() = default;
};

class GrpcInferCall final : private InferTransport,
                            private UnsentReplies::Reply {
 public:
  // All outlive the call.
  // `load`: what replies tell of the server's load; null: nothing.
  GrpcInferCall(const InferEnvironment& environment, UnsentReplies& unsent,
                InferCallPool& pool, const EndpointLoad* load = nullptr)
      : unsent_(unsent), pool_(pool), load_(load), call_(environment, *this) {}

  // Asks for the next ModelInfer of any client.
  void Post(InferRpcSource& source, grpc::ServerCompletionQueue& queue);

 private:
  // What gRPC wants anew for each call.
  struct Rpc {
    Rpc() : responder(&context) {}  // Clang asks for it: it is nested

    grpc::ServerContext context;
    InferResponder responder;
  };

  using Tag = MemberTag<GrpcInferCall>;

  void OnMatched(bool ok);
  void OnSent(bool ok);
  void OnDone(bool ok);
  // One of the three that follow a match has come.
  void OnEnd();

  void SendReply(grpc::ByteBuffer& reply) override;
  void SendError(const grpc::Status& status,
                 std::optional<int64_t> retry_pushback_ms) override;
  void Ended() override { OnEnd(); }
  void Drop() override { rpc_->context.TryCancel(); }

  UnsentReplies& unsent_;
  InferCallPool& pool_;
  const EndpointLoad* const load_;  // or null
  Tag matched_{*this, &GrpcInferCall::OnMatched};
  Tag sent_{*this, &GrpcInferCall::OnSent};
  Tag done_{*this, &GrpcInferCall::OnDone};
  grpc::ByteBuffer message_;
  std::optional<Rpc> rpc_;
  int ends_left_ = 0;
  InferCall call_;
};

}  // namespace ferry

template <>
class grpc::SerializationTraits<ferry::TakenReply> {
 public:
  static grpc::Status Serialize(const ferry::TakenReply& reply,
                                grpc::ByteBuffer* to, bool* is_owned) {
    to->Clear();
    to->Swap(&reply.bytes);
    *is_owned = true;
    return grpc::Status::OK;
  }
};

#endif  // FERRY_SERVER_GRPC_GRPC_INFER_CALL_H_
