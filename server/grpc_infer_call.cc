// Between InferCall and gRPC.
#include "server/grpc_infer_call.h"

#include <grpc/support/time.h>

#include <string>

namespace ferry {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

// gRPC's monotonic clock and ours are CLOCK_MONOTONIC.
TimePoint ToTimePoint(gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return kNever;
  }
  const gpr_timespec monotonic =
      gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
  constexpr int64_t kMaxSeconds = INT64_MAX / kNanosPerSecond - 1;
  if (monotonic.tv_sec >= kMaxSeconds) {
    return kNever;
  }
  return FromNanos(monotonic.tv_sec * kNanosPerSecond + monotonic.tv_nsec);
}

}  // namespace

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
  Matched();
  pool_.PostNext();
}

void GrpcInferCall::OnSent(bool) {
  unsent_.Remove(*this);
  Sent();
}

void GrpcInferCall::OnDone(bool) {
  Done(rpc_->context.IsCancelled() ? Cancelled::kYes : Cancelled::kNo);
}

absl::Status GrpcInferCall::TakeMessage(std::vector<grpc::Slice>& slices) {
  const grpc::Status status = message_.Dump(&slices);
  message_.Clear();  // the slices hold the bytes
  return status.ok() ? absl::OkStatus()
                     : absl::InvalidArgumentError(
                           "expected a ModelInferRequest, got no message");
}

TimePoint GrpcInferCall::Deadline() const {
  return ToTimePoint(rpc_->context.raw_deadline());
}

void GrpcInferCall::SendReply(grpc::ByteBuffer& reply) {
  unsent_.Add(*this, reply.Length());
  TakenReply taken;
  taken.bytes.Swap(&reply);
  rpc_->responder.Finish(taken, grpc::Status::OK, sent_.get());
}

void GrpcInferCall::SendError(const grpc::Status& status,
                              std::optional<int64_t> retry_pushback_ms) {
  if (retry_pushback_ms.has_value()) {
    rpc_->context.AddTrailingMetadata(kRetryPushbackKey,
                                      std::to_string(*retry_pushback_ms));
  }
  rpc_->responder.FinishWithError(status, sent_.get());
}

void GrpcInferCall::Recycle() {
  rpc_.reset();
  pool_.GiveBack(*this);
}

}  // namespace ferry
