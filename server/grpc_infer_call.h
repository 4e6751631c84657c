// GrpcInferCall: an InferCall whose transport is gRPC's asynchronous API.
//
// gRPC answers with tags. After Post() the queue gives kMatched, with ok =
// false where the server was shut down first: then nothing else follows. After
// a match it gives kDone and, once the reply was handed to it, kSent, in
// either order.
//
// Thread safety: that of InferCall. Recycle() may run on any thread.
#ifndef FERRY_SERVER_GRPC_INFER_CALL_H_
#define FERRY_SERVER_GRPC_INFER_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <optional>
#include <vector>

#include "server/infer_call.h"

namespace ferry {

class GrpcInferCall;

// Where a call returns when it has ended.
class InferCallPool {
 public:
  virtual void GiveBack(GrpcInferCall& call) = 0;

 protected:
  ~InferCallPool() = default;
};

using InferResponder = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

// Where calls come from: the service's RequestModelInfer.
class InferRpcSource {
 public:
  virtual void Request(grpc::ServerContext& context, grpc::ByteBuffer& message,
                       InferResponder& responder,
                       grpc::ServerCompletionQueue& queue, void* tag) = 0;

 protected:
  ~InferRpcSource() = default;
};

class GrpcInferCall final : public InferCall {
 public:
  enum class Event { kMatched, kSent, kDone };
  struct Tag {
    GrpcInferCall* call;
    Event event;
  };

  GrpcInferCall(const InferEnvironment& environment, InferCallPool& pool)
      : InferCall(environment), pool_(pool) {}
  ~GrpcInferCall() = default;

  // Asks for the next ModelInfer of any client.
  void Post(InferRpcSource& source, grpc::ServerCompletionQueue& queue);

  // Forgets a Post() that was not matched.
  void Abandon() { rpc_.reset(); }

  // REQUIRES: the kDone tag has come.
  Cancelled WasCancelled() const {
    return rpc_->context.IsCancelled() ? Cancelled::kYes : Cancelled::kNo;
  }

  GrpcInferCall* next_idle = nullptr;  // of the pool

 private:
  // What gRPC wants anew for each call.
  struct Rpc {
    grpc::ServerContext context;
    InferResponder responder{&context};
  };

  absl::Status TakeMessage(std::vector<grpc::Slice>& slices) override;
  TimePoint Deadline() const override;
  void SendReply(const grpc::ByteBuffer& reply) override;
  void SendError(const grpc::Status& status,
                 std::optional<int64_t> retry_pushback_ms) override;
  void Recycle() override;

  InferCallPool& pool_;
  Tag matched_{this, Event::kMatched};
  Tag sent_{this, Event::kSent};
  Tag done_{this, Event::kDone};
  grpc::ByteBuffer message_;
  std::optional<Rpc> rpc_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_INFER_CALL_H_
