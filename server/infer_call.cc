// Start, respond, and the count that ends a call.
#include "server/infer_call.h"

#include <algorithm>
#include <utility>

#include "batcher/check.h"
#include "server/infer_response.h"

namespace ferry {
namespace {

// The transport's ends: Sent() and Done().
constexpr int32_t kTransportReferences = 2;

// A message in more slices than that is unusual; its list is given back.
constexpr size_t kMaxKeptSlices = 4096;

}  // namespace

absl::Status TakeSlices(grpc::ByteBuffer& message,
                        std::vector<grpc::Slice>& slices) {
  const grpc::Status status = message.Dump(&slices);
  message.Clear();  // the slices hold the bytes
  return status.ok() ? absl::OkStatus()
                     : absl::InvalidArgumentError(
                           "expected a ModelInferRequest, got no message");
}

void InferCall::Matched() {
  references_.store(kTransportReferences, std::memory_order_relaxed);
  const absl::Status status = Start();
  if (status.ok()) {
    return;  // the scheduler has it: by now it may have been answered
  }
  DropMessage();
  std::optional<int64_t> retry_pushback_ms;
  if (entry_ && IsOverload(status)) {
    retry_pushback_ms =
        entry_->retry_pushback_ms.load(std::memory_order_relaxed);
  }
  entry_.Reset();  // the scheduler does not have the request
  SendError(
      WithRequestId(ToGrpcStatus(status, environment_.codes), decoder_.id()),
      retry_pushback_ms);
}

absl::Status InferCall::Start() {
  if (absl::Status status = TakeMessage(slices_); !status.ok()) {
    environment_.models.table().CountMalformed();
    return status;
  }
  for (const grpc::Slice& slice : slices_) {
    runs_.push_back(
        {reinterpret_cast<const std::byte*>(slice.begin()), slice.size()});
  }
  // All that was received is kept, not only the tensors.
  size_t received_bytes = 0;
  for (const Run& run : runs_) {
    received_bytes += run.size;
  }
  if (absl::Status status = decoder_.Parse(runs_); !status.ok()) {
    environment_.models.table().CountMalformed();
    return status;
  }
  absl::StatusOr<ModelUse> entry =
      environment_.models.Find(decoder_.model_name(), decoder_.model_version());
  if (!entry.ok()) {
    environment_.models.table().CountUnknownModel();
    return entry.status();
  }
  entry_ = *std::move(entry);
  const ServedModel& model = entry_->model();
  if (absl::Status status =
          decoder_.Bind({model.name, model.spec, entry_->serial}, request_);
      !status.ok()) {
    entry_->invalid_requests.fetch_add(1, std::memory_order_relaxed);
    return status;
  }
  request_.bytes = std::max(request_.bytes, received_bytes);
  return Submit();
}

absl::Status InferCall::Submit() {
  request_.completion = this;
  request_.deadline = Deadline();
  request_.timeout = decoder_.parameters().timeout;
  request_.level = LevelOf(decoder_.parameters().priority, entry_->model());
  // Taken before the submit: Respond() may come before it returns.
  references_.fetch_add(1, std::memory_order_relaxed);
  at_scheduler_.store(AtScheduler::kInside, std::memory_order_relaxed);
  absl::Status status = entry_->model().scheduler->Submit(request_);
  if (!status.ok()) {
    references_.fetch_sub(1, std::memory_order_relaxed);
    return status;
  }
  is_submitted_ = true;
  LeaveScheduler();
  return status;
}

void InferCall::LeaveScheduler() {
  AtScheduler inside = AtScheduler::kInside;
  if (!at_scheduler_.compare_exchange_strong(inside, AtScheduler::kOutside,
                                             std::memory_order_acq_rel)) {
    entry_.Reset();  // it was answered meanwhile
  }
}

void InferCall::Respond(const RequestResult& result) {
  // The tensors are gathered or never will be: the message is no longer read,
  // and admission has let its bytes go.
  DropMessage();
  Send(result);
  if (at_scheduler_.exchange(AtScheduler::kAnswered,
                             std::memory_order_acq_rel) ==
      AtScheduler::kOutside) {
    entry_.Reset();
  }
  Unref();
}

void InferCall::Send(const RequestResult& result) {
  if (!result.outcome.ok()) {
    SendError(WithRequestId(ToGrpcStatus(result.outcome, environment_.codes),
                            decoder_.id()),
              std::nullopt);
    return;
  }
  grpc::ByteBuffer reply =
      EncodeInferResponse({.model_name = entry_->model().name,
                           .model_version = entry_->version,
                           .id = decoder_.id(),
                           .spec = entry_->model().spec,
                           .outputs = decoder_.outputs(),
                           .classes = decoder_.classes(),
                           .labels = entry_->model().labels,
                           .rows = result.rows});
  SendReply(reply);
}

void InferCall::Done(Cancelled cancelled) {
  AtScheduler outside = AtScheduler::kOutside;
  if (cancelled == Cancelled::kYes && is_submitted_ &&
      at_scheduler_.compare_exchange_strong(outside, AtScheduler::kInside,
                                            std::memory_order_acq_rel)) {
    entry_->model().scheduler->Cancel(request_);
    LeaveScheduler();
  }
  Unref();
}

void InferCall::Unref() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Clear();
    Recycle();
  }
}

void InferCall::DropMessage() {
  runs_.clear();
  slices_.clear();
  if (slices_.capacity() > kMaxKeptSlices) {
    std::vector<grpc::Slice>().swap(slices_);
    std::vector<Run>().swap(runs_);
  }
}

void InferCall::Clear() {
  decoder_.Clear();
  DropMessage();
  request_.Reset();
  entry_.Reset();
  is_submitted_ = false;
}

}  // namespace ferry
