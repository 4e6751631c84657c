// Implements GrpcInferCall: connects InferCall with gRPC.
#include "server/grpc/grpc_infer_call.h"

#include <string>

namespace ferry {

void GrpcInferCall::Post(InferRpcSource& source,
                         grpc::ServerCompletionQueue& queue) {
  rpc_.emplace();
  rpc_->context.AsyncNotifyWhenDone(done_.get());
  source.Request(rpc_->context, message_, rpc_->responder, queue,
                 matched_.get());
}

void GrpcInferCall::OnMatched(bool ok) {
  if (!ok) {
    rpc_.reset();
    pool_.GiveBack(*this);
    return;
  }
  ends_left_ = 3;  // sent, done, Ended()
  const grpc::Status metadata = CheckMetadata(rpc_->context);
  if (metadata.ok()) {
    call_.ComeBy(rpc_->context);
    call_.Start(message_, ToTimePoint(rpc_->context.raw_deadline()));
  } else {
    message_.Clear();
    SendError(metadata, std::nullopt);
    Ended();
  }
  pool_.PostNext();
}

void GrpcInferCall::OnSent(bool) {
  unsent_.Remove(*this);
  OnEnd();
}

void GrpcInferCall::OnDone(bool) {
  if (rpc_->context.IsCancelled()) {
    call_.Cancel();
  }
  OnEnd();
}

void GrpcInferCall::OnEnd() {
  if (--ends_left_ == 0) {
    rpc_.reset();
    pool_.GiveBack(*this);
  }
}

void GrpcInferCall::SendReply(grpc::ByteBuffer& reply) {
  unsent_.Add(*this, reply.Length());
  if (load_ != nullptr) {
    if (std::string load = load_->Trailer(); !load.empty()) {
      rpc_->context.AddTrailingMetadata(EndpointLoad::kTrailer, load);
    }
  }
  TakenReply taken;
  taken.bytes.Swap(&reply);
  rpc_->responder.Finish(taken, grpc::Status::OK, sent_.get());
}

void GrpcInferCall::SendError(const grpc::Status& status,
                              std::optional<int64_t> retry_pushback_ms) {
  AddRetryPushback(retry_pushback_ms, rpc_->context);
  unsent_.Add(*this, status.error_message().size());
  rpc_->responder.FinishWithError(status, sent_.get());
}

}  // namespace ferry
