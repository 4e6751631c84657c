// Implements InferStream: reads requests, and answers them in order.
#include "server/grpc/infer_stream.h"

#include <grpcpp/alarm.h>

#include <utility>

#include "server/codec/stream_message.h"

namespace ferry {
namespace {

constexpr char kErrorsEndTheStream[] = "triton_grpc_error";
constexpr char kDrains[] = "server is draining and ends its streams";

}  // namespace

// One request of a stream. It keeps its answer until its turn comes, and goes
// back to the stream when that was written, or came after the stream was over,
// and its call has ended. A call that fails early ends later than that: an
// alarm brings its failure to the queue's thread.
class InferStream::Item final : public UnsentReplies::Reply,
                                private InferTransport {
 public:
  explicit Item(InferStream& stream)
      : call(stream.environment_.infer, *this), stream_(stream) {}
  ~Item() = default;

  InferCall call;
  int uses = 0;
  bool is_answered = false;
  grpc::ByteBuffer answer;
  grpc::Status status;  // not OK: how the request failed

 private:
  void SendReply(grpc::ByteBuffer& reply) override {
    WrapInStreamMessage(reply);
    answer.Swap(&reply);
    status = grpc::Status::OK;
  }
  void SendError(const grpc::Status& failure, std::optional<int64_t>) override {
    answer = StreamErrorMessage(failure, call.id());
    status = failure;
  }
  void FailedEarly() override {
    is_alarm_set_ = true;
    alarm_.Set(&stream_.environment_.queue, gpr_inf_past(GPR_CLOCK_MONOTONIC),
               alarm_tag_.get());
  }
  void OnAlarm(bool) {
    is_alarm_set_ = false;
    Came();
  }
  void Ended() override {
    has_ended_ = true;
    Came();
  }
  void Came() {
    stream_.Answered(*this);
    if (has_ended_ && !is_alarm_set_) {
      has_ended_ = false;
      stream_.GiveBack(*this);
    }
  }
  void Drop() override { stream_.context_.TryCancel(); }

  InferStream& stream_;
  MemberTag<Item> alarm_tag_{*this, &Item::OnAlarm};
  grpc::Alarm alarm_;
  bool is_alarm_set_ = false;  // and has not come; set before the call ends
  bool has_ended_ = false;
};

InferStream::InferStream(const Environment& environment)
    : environment_(environment) {
  context_.AsyncNotifyWhenDone(done_.get());
  environment.source.RequestStream(context_, responder_, environment.queue,
                                   matched_.get());
}

InferStream::~InferStream() { environment_.open.streams.erase(this); }

void InferStream::OnMatched(bool ok) {
  if (!ok) {  // the server was shut down before: `done` does not follow
    delete this;
    return;
  }
  Post(environment_);
  environment_.open.streams.insert(this);
  Expect();  // of `done`
  const grpc::Status metadata = CheckMetadata(context_);
  if (!metadata.ok()) {
    Finish(metadata);
    return;
  }
  deadline_ = ToTimePoint(context_.raw_deadline());
  const auto wish = context_.client_metadata().find(kErrorsEndTheStream);
  if (wish != context_.client_metadata().end() && wish->second == "true") {
    errors_ = Errors::kEndTheStream;
  }
  ReadNext();
  WriteNext();  // where it has to end
}

void InferStream::ReadNext() {
  Expect();
  responder_.Read(&message_, read_.get());
}

void InferStream::OnRead(bool ok) {
  if (Item* const item = ok ? TakeItem() : nullptr) {
    item->call.ComeBy(context_);
    item->call.Start(message_, deadline_);
    ReadNextIfThereIsRoom();
  } else {
    has_all_requests_ = true;
    WriteNext();
  }
  Came();
}

void InferStream::ReadNextIfThereIsRoom() {
  if (is_over_) {
    return;
  }
  is_reading_paused_ = unanswered_.size() >= kMaxUnanswered ||
                       waiting_bytes_ >= kMaxWaitingBytes;
  if (!is_reading_paused_) {
    ReadNext();
  }
}

InferStream::Item* InferStream::TakeItem() {
  if (is_over_ || is_finishing_) {
    return nullptr;
  }
  Expect();
  std::unique_ptr<Item> item;
  if (idle_.empty()) {
    item = std::make_unique<Item>(*this);
  } else {
    item = std::move(idle_.back());
    idle_.pop_back();
  }
  item->uses = 2;
  unanswered_.push_back(item.release());
  return unanswered_.back();
}

void InferStream::Answered(Item& item) {
  if (std::exchange(item.is_answered, true)) {
    return;
  }
  if (is_over_) {
    GiveBack(item);
    return;
  }
  waiting_bytes_ += item.answer.Length();
  environment_.unsent.AddWaiting(item.answer.Length());
  WriteNext();
}

void InferStream::WriteNext() {
  if (written_item_ != nullptr || is_finishing_ || is_over_) {
    return;
  }
  if (unanswered_.empty()) {
    if (has_all_requests_) {
      Finish(grpc::Status::OK);
    } else if (environment_.open.must_end) {
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, kDrains));
    }
    return;
  }
  Item& oldest = *unanswered_.front();
  if (!oldest.is_answered) {
    return;
  }
  if (!oldest.status.ok() && errors_ == Errors::kEndTheStream) {
    Finish(oldest.status);
    return;
  }
  unanswered_.pop_front();
  written_item_ = &oldest;
  environment_.unsent.RemoveWaiting(oldest.answer.Length());
  environment_.unsent.Add(oldest, oldest.answer.Length());
  Expect();
  responder_.Write(oldest.answer, written_.get());
}

void InferStream::Finish(const grpc::Status& status) {
  is_finishing_ = true;
  AddRetryPushback(RetryPushbackMs(status), context_);
  Expect();
  responder_.Finish(status, finished_.get());
}

void InferStream::OnWritten(bool) {
  Item& written = *std::exchange(written_item_, nullptr);
  waiting_bytes_ -= written.answer.Length();
  WriteNext();  // where the client is gone, `done` will say so
  environment_.unsent.Remove(written);
  GiveBack(written);
  if (is_reading_paused_) {
    ReadNextIfThereIsRoom();
  }
  Came();
}

void InferStream::OnFinished(bool) { Came(); }

// The client has all answers or is gone, and so are those on their way to it.
void InferStream::OnDone(bool) {
  is_over_ = true;
  for (Item* item : std::exchange(unanswered_, {})) {
    if (item->is_answered) {
      environment_.unsent.RemoveWaiting(item->answer.Length());
      GiveBack(*item);
    } else {
      item->call.Cancel();  // its answer gives it back
    }
  }
  Came();
}

void InferStream::GiveBack(Item& item) {
  if (--item.uses > 0) {
    return;
  }
  item.is_answered = false;
  item.answer.Clear();
  std::unique_ptr<Item> idle(&item);
  if (idle_.size() < kMaxIdle) {
    idle_.push_back(std::move(idle));
  }
  idle.reset();  // before the stream may go
  Came();
}

void InferStream::Came() {
  if (--expected_ == 0) {
    delete this;
  }
}

}  // namespace ferry
