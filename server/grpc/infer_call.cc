// Implements InferCall: decodes, submits, encodes, sends. And AnsweredCalls: a
// list of calls, and the event that announces it.
#include "server/grpc/infer_call.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "batcher/batch.h"
#include "server/codec/infer_response.h"

namespace ferry {
namespace {

// A message in more slices than that is unusual; its list is given back.
constexpr size_t kMaxKeptSlices = 4096;

}  // namespace

TimePoint ToTimePoint(gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return kNever;
  }
  const gpr_timespec monotonic =
      gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  constexpr int64_t kMaxSeconds = INT64_MAX / kNanosPerSecond - 1;
  if (monotonic.tv_sec >= kMaxSeconds) {
    return kNever;
  }
  return FromNanos(monotonic.tv_sec * kNanosPerSecond + monotonic.tv_nsec);
}

void InferCall::ComeBy(const grpc::ServerContext& rpc) {
  client_.clear();
  try {
    if (environment_.shares != nullptr) {
      client_ = environment_.name_of_client(rpc);
    }
    if (environment_.tracer == nullptr) {
      return;
    }
    const auto [first, last] = rpc.client_metadata().equal_range("traceparent");
    const auto count = static_cast<size_t>(std::distance(first, last));
    const grpc::string_ref sent = count > 0 ? first->second : "";
    begun_ = environment_.tracer->Begin({sent.data(), sent.size()}, count);
    peer_ = begun_.is_logged ? rpc.peer() : "";
  } catch (const std::bad_alloc&) {  // it has no name, and is not traced
    begun_ = {};
    begun_.arrival = Clock::Steady().Now();
  }
  // They are of the request before, which may be another client's.
  request_.rows = 0;
  request_.bytes = 0;
  is_parsed_ = false;
}

void InferCall::Start(grpc::ByteBuffer& message, TimePoint deadline) {
  absl::Status status;
  try {
    status = Submit(message, deadline);
  } catch (const std::bad_alloc&) {  // the scheduler has not accepted it
    status = absl::ResourceExhaustedError(
        "not enough memory to take the request; send fewer rows");
  }
  if (status.ok()) {
    return;
  }
  DropMessage();
  const grpc::Status refusal =
      WithRequestId(ToGrpcStatus(status, environment_.codes), decoder_.id());
  std::optional<int64_t> retry_pushback_ms = RetryPushbackMs(refusal);
  if (entry_ && IsOverload(status)) {
    retry_pushback_ms =
        entry_->retry_pushback_ms.load(std::memory_order_relaxed);
  }
  Trace(static_cast<absl::StatusCode>(refusal.error_code()), nullptr);
  hold_.Reset();
  entry_.Reset();
  transport_.SendError(refusal, retry_pushback_ms);
  End();
}

absl::Status InferCall::Submit(grpc::ByteBuffer& message, TimePoint deadline) {
  if (absl::Status status = Decode(message); !status.ok()) {
    return status;
  }
  request_.completion = this;
  request_.deadline = deadline;
  request_.timeout = decoder_.parameters().timeout;
  request_.level = LevelOf(decoder_.parameters().priority, entry_->model());
  const auto rows = static_cast<uint64_t>(request_.rows);
  if (absl::Status status = Admit(); !status.ok()) {
    return status;
  }
  const ServedModel& model = entry_->model();
  if (absl::Status copied =
          decoder_.CopyRegions({model.name, model.spec, entry_->serial});
      !copied.ok()) {
    entry_->invalid_requests.fetch_add(1, std::memory_order_relaxed);
    return copied;
  }
  absl::Status status = model.scheduler->Submit(request_);
  is_submitted_ = status.ok();
  if (status.ok() || IsOverload(status)) {
    entry_->arrived_rows.fetch_add(rows, std::memory_order_relaxed);
  }
  return status;
}

absl::Status InferCall::Admit() {
  if (environment_.memory != nullptr &&
      !environment_.memory->Takes(request_.bytes)) {
    entry_->memory_refusals.fetch_add(1, std::memory_order_relaxed);
    return absl::ResourceExhaustedError(
        "expected a request of at most 64 KiB while the server is short of "
        "memory, got a larger one; send it again later, or in parts");
  }
  if (environment_.shares == nullptr) {
    return absl::OkStatus();
  }
  const ServedModel& model = entry_->model();
  const int64_t batch_rows = std::max(model.spec.max_batch_size, 1);
  absl::Status status = environment_.shares->Take(
      {.client = client_,
       .model_name = model.name,
       .model = entry_->serial,
       .rows = request_.rows,
       .bytes = static_cast<int64_t>(request_.bytes),
       .batch_rows = batch_rows,
       .instances_rows = batch_rows * model.scheduler->instance_count()},
      hold_);
  if (!status.ok()) {
    entry_->client_refusals.fetch_add(1, std::memory_order_relaxed);
  }
  return status;
}

absl::Status InferCall::Decode(grpc::ByteBuffer& message) {
  ModelTable& table = environment_.models.table();
  const bool has_message = message.Dump(&slices_).ok();
  message.Clear();  // the slices hold the bytes
  if (!has_message) {
    table.CountMalformed();
    return absl::InvalidArgumentError(
        "expected a ModelInferRequest, got no message");
  }
  size_t received_bytes = 0;
  for (const grpc::Slice& slice : slices_) {
    segments_.push_back(
        {reinterpret_cast<const std::byte*>(slice.begin()), slice.size()});
    received_bytes += slice.size();
  }
  request_.bytes = received_bytes;
  if (absl::Status status = decoder_.Parse(segments_); !status.ok()) {
    table.CountMalformed();
    return status;
  }
  is_parsed_ = true;
  absl::StatusOr<ModelUse> entry =
      environment_.models.Find(decoder_.model_name(), decoder_.model_version());
  if (!entry.ok()) {
    table.CountUnknownModel();
    return entry.status();
  }
  entry_ = *std::move(entry);
  const ServedModel& model = entry_->model();
  absl::Status status =
      decoder_.Bind({model.name, model.spec, entry_->serial}, request_,
                    {.regions = environment_.regions,
                     .client = &client_,
                     .max_bytes = environment_.max_region_bytes});
  if (status.ok()) {
    entry_->received_bytes.fetch_add(received_bytes, std::memory_order_relaxed);
  } else {
    entry_->invalid_requests.fetch_add(1, std::memory_order_relaxed);
  }
  // All that was received is kept, not only the tensors.
  request_.bytes = std::max(request_.bytes, received_bytes);
  return status;
}

void InferCall::Cancel() {
  if (is_submitted_) {
    entry_->model().scheduler->Cancel(request_);
  }
}

void InferCall::FailEarly(const Outcome& outcome) {
  result_ = {.outcome = outcome, .rows = {}};
  Trace(outcome.code, nullptr);
  Send();
  is_sent_ = true;
  transport_.FailedEarly();
}

void InferCall::Respond(const RequestResult& result) {
  result_ = result;
  output_ = OutputRef(result.rows.buffer);
  if (!is_sent_) {
    Trace(result.outcome.code, result.batch);
  }
  hold_.MarkComputed(result.compute);
  hold_.Reset();  // before the reply: the client's next request may be there
  result_.batch = nullptr;  // it goes
  // What is written to shared memory takes its time.
  if (result.has_time && !is_sent_ && decoder_.output_regions().empty()) {
    Send();
    is_sent_ = true;
  }
  environment_.answered.Push(*this);
}

void InferCall::Finish() {
  is_submitted_ = false;
  DropMessage();
  if (!std::exchange(is_sent_, false)) {
    Send();
  }
  entry_.Reset();
  End();
}

void InferCall::Send() {
  if (!result_.outcome.ok()) {
    const grpc::Status failure =
        WithRequestId(ToGrpcStatus(result_.outcome), decoder_.id());
    transport_.SendError(failure, RetryPushbackMs(failure));
    return;
  }
  const InferResponseView response = {.model_name = entry_->model().name,
                                      .model_version = entry_->version,
                                      .id = decoder_.id(),
                                      .spec = entry_->model().spec,
                                      .outputs = decoder_.outputs(),
                                      .classes = decoder_.classes(),
                                      .labels = entry_->model().labels,
                                      .regions = decoder_.output_regions(),
                                      .rows = result_.rows};
  // A client that waits no more may have other bytes there.
  if (absl::Status status =
          request_.IsCancelled() ? absl::OkStatus() : WriteToRegions(response);
      !status.ok()) {
    output_ = OutputRef();
    transport_.SendError(WithRequestId(ToGrpcStatus(status), decoder_.id()),
                         std::nullopt);
    return;
  }
  grpc::ByteBuffer reply = EncodeInferResponse(response);
  output_ = OutputRef();  // the reply holds what it references
  entry_->sent_bytes.fetch_add(reply.Length(), std::memory_order_relaxed);
  transport_.SendReply(reply);
}

void InferCall::Trace(absl::StatusCode code, const Batch* batch) {
  if (environment_.tracer == nullptr) {
    return;
  }
  environment_.tracer->End(begun_, code, [&](RequestTrace& trace) {
    const auto cut = [](const std::string& text) {
      return text.substr(0, RequestTrace::kMaxTextBytes);
    };
    trace.peer = peer_;
    if (entry_) {
      trace.model = entry_->model().name;
      trace.version = entry_->version;
    } else if (is_parsed_) {
      trace.model = cut(decoder_.model_name());
      trace.version = cut(decoder_.model_version());
    }
    trace.request_id = cut(decoder_.id());
    trace.rows = request_.rows;
    trace.bytes = request_.bytes;
    if (batch != nullptr) {
      trace.batch = batch->sequence();
      trace.batch_rows = batch->rows();
      trace.closed = batch->closed();
      trace.compute_begin = batch->times().compute_begin;
      trace.compute_end = batch->times().compute_end;
    }
  });
}

void InferCall::DropMessage() {
  segments_.clear();
  slices_.clear();
  if (slices_.capacity() > kMaxKeptSlices) {
    std::vector<grpc::Slice>().swap(slices_);
    std::vector<ByteSegment>().swap(segments_);
  }
}

void InferCall::End() {
  decoder_.Clear();
  request_.Reset();
  transport_.Ended();
}

void AnsweredCalls::Push(InferCall& call) {
  pushes_.fetch_add(1, std::memory_order_seq_cst);
  calls_.Push(call);  // from now on the call may be gone
  if (!is_event_under_way_.exchange(true, std::memory_order_seq_cst)) {
    event_.Set(&queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC),
               static_cast<QueueTag*>(this));
  }
  pushes_.fetch_sub(1, std::memory_order_seq_cst);
}

void AnsweredCalls::AwaitPushes() const {
  while (pushes_.load(std::memory_order_seq_cst) > 0) {
    std::this_thread::yield();
  }
}

void AnsweredCalls::FinishAll() {
  if (calls_.empty()) {
    return;
  }
  InferCall* next = calls_.TakeAll();
  while (next != nullptr) {
    InferCall& call = *std::exchange(next, next->next_answered);
    call.Finish();
  }
}

}  // namespace ferry
