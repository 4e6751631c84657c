// Reading, and answering in order.
#include "server/infer_stream.h"

#include <utility>

#include "server/grpc_deadline.h"
#include "server/stream_message.h"

namespace ferry {
namespace {

constexpr char kErrorsEndTheStream[] = "triton_grpc_error";

}  // namespace

// An InferCall whose transport is its stream.
class InferStream::Item final : public InferCall, public UnsentReplies::Reply {
 public:
  explicit Item(InferStream& stream)
      : InferCall(stream.environment_.infer), stream_(stream) {}
  ~Item() = default;

  void Begin(grpc::ByteBuffer& message) {
    message_.Swap(&message);
    Matched();
  }

  // --- under the stream's lock, until it is over ---
  bool is_answered = false;
  grpc::ByteBuffer answer;
  grpc::Status status;  // not OK: how the request failed

 private:
  absl::Status TakeMessage(std::vector<grpc::Slice>& slices) override {
    return TakeSlices(message_, slices);
  }
  TimePoint Deadline() const override { return stream_.deadline_; }
  void SendReply(grpc::ByteBuffer& reply) override {
    WrapInStreamMessage(reply);
    stream_.Answered(*this, reply, grpc::Status::OK);
  }
  void SendError(const grpc::Status& failure, std::optional<int64_t>) override {
    grpc::ByteBuffer message = StreamErrorMessage(failure, id());
    stream_.Answered(*this, message, failure);
  }
  void Recycle() override { stream_.GiveBack(*this); }
  void Drop() override { stream_.context_.TryCancel(); }

  InferStream& stream_;
  grpc::ByteBuffer message_;
};

InferStream::InferStream(const Environment& environment)
    : environment_(environment) {
  context_.AsyncNotifyWhenDone(done_.get());
  environment.source.RequestStream(context_, responder_, environment.queue,
                                   matched_.get());
}

InferStream::~InferStream() = default;

void InferStream::OnMatched(bool ok) {
  if (!ok) {  // the server was shut down before: `done` does not follow
    delete this;
    return;
  }
  Post(environment_);
  TakeHold();  // for `done`
  deadline_ = ToTimePoint(context_.raw_deadline());
  const auto wish = context_.client_metadata().find(kErrorsEndTheStream);
  if (wish != context_.client_metadata().end() && wish->second == "true") {
    errors_ = Errors::kEndTheStream;
  }
  ReadNext();
}

void InferStream::ReadNext() {
  TakeHold();
  responder_.Read(&message_, read_.get());
}

void InferStream::OnRead(bool ok) {
  if (Item* const item = ok ? TakeItem() : nullptr) {
    item->Begin(message_);
    message_.Clear();
    ReadNextIfThereIsRoom();
  } else {
    MutexLock lock(mutex_);
    has_all_requests_ = true;
    WriteNext();
  }
  DropHold();
}

void InferStream::ReadNextIfThereIsRoom() {
  MutexLock lock(mutex_);
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
  MutexLock lock(mutex_);
  if (is_over_ || is_finishing_) {
    return nullptr;
  }
  TakeHold();
  std::unique_ptr<Item> item;
  if (idle_.empty()) {
    item = std::make_unique<Item>(*this);
  } else {
    item = std::move(idle_.back());
    idle_.pop_back();
  }
  unanswered_.push_back(item.release());
  return unanswered_.back();
}

void InferStream::Answered(Item& item, grpc::ByteBuffer& message,
                           const grpc::Status& status) {
  {
    MutexLock lock(mutex_);
    if (!is_over_) {
      waiting_bytes_ += message.Length();
      environment_.unsent.AddWaiting(message.Length());
      item.answer.Swap(&message);
      item.status = status;
      item.is_answered = true;
      WriteNext();
      return;
    }
  }
  item.Sent();  // nobody listens; whoever ended the stream does the rest
}

void InferStream::WriteNext() {
  if (written_item_ != nullptr || is_finishing_ || is_over_) {
    return;
  }
  if (unanswered_.empty()) {
    if (has_all_requests_) {
      Finish(grpc::Status::OK);
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
  TakeHold();
  responder_.Write(oldest.answer, written_.get());
}

void InferStream::Finish(const grpc::Status& status) {
  is_finishing_ = true;
  TakeHold();
  responder_.Finish(status, finished_.get());
}

void InferStream::OnWritten(bool) {
  Item* written = nullptr;
  {
    MutexLock lock(mutex_);
    written = std::exchange(written_item_, nullptr);
    waiting_bytes_ -= written->answer.Length();
    WriteNext();  // where the client is gone, `done` will say so
  }
  environment_.unsent.Remove(*written);
  written->Sent();
  written->Done(Cancelled::kNo);
  if (is_reading_paused_) {
    ReadNextIfThereIsRoom();
  }
  DropHold();
}

void InferStream::OnFinished(bool) { DropHold(); }

// The client has all answers or is gone, and so are those on their way to it.
void InferStream::OnDone(bool) {
  std::deque<Item*> given_up;
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    given_up.swap(unanswered_);
  }
  for (Item* item : given_up) {
    if (item->is_answered) {
      environment_.unsent.RemoveWaiting(item->answer.Length());
      item->Sent();
    }
    item->Done(Cancelled::kYes);
  }
  DropHold();
}

void InferStream::GiveBack(Item& item) {
  item.is_answered = false;
  item.answer.Clear();
  std::unique_ptr<Item> done(&item);
  {
    MutexLock lock(mutex_);
    if (idle_.size() < kMaxIdle) {
      idle_.push_back(std::move(done));
    }
  }
  done.reset();  // before the stream may go
  DropHold();
}

void InferStream::DropHold() {
  if (holds_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete this;
  }
}

}  // namespace ferry
