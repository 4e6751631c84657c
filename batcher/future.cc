// Implements InProcessClient and Future over pooled calls.
#include "batcher/future.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace ferry {

// One request of an InProcessClient. The reader alone returns it to the pool.
class InProcessCall final : public Completion {
 public:
  explicit InProcessCall(InProcessClient& client) : client_(client) {
    request_.completion = this;
  }

  absl::Status Start(const InferArguments& arguments) {
    request_.Reset();
    request_.inputs = arguments.inputs;
    request_.rows = arguments.rows;
    request_.deadline = arguments.deadline;
    request_.bytes = 0;
    for (const TensorView& input : arguments.inputs) {
      for (const ByteSegment& segment : input.segments) {
        request_.bytes += segment.size;
      }
    }
    request_.shape_key = RequestsMayDiffer(client_.scheduler_.spec())
                             ? ShapeKey(arguments.inputs)
                             : 0;
    is_ready_.store(0, std::memory_order_relaxed);
    return client_.scheduler_.Submit(request_);
  }

  bool IsReady() const {
    return is_ready_.load(std::memory_order_acquire) != 0;
  }

  Reply Wait() {
    is_ready_.wait(0, std::memory_order_acquire);
    return std::move(reply_);
  }

  void Cancel() { client_.scheduler_.Cancel(request_); }

  void ReturnToPool() { client_.Return(*this); }

  void Respond(const RequestResult& result) override {
    reply_ = {result.outcome, OutputRef(result.rows.buffer), result.rows.first,
              result.rows.count};
    // Under the lock that returning the call takes: the thread that has it in
    // the pool may destroy it, so nothing here comes after that.
    MutexLock lock(client_.mutex_);
    is_ready_.store(1, std::memory_order_release);
    is_ready_.notify_one();
  }

 private:
  InProcessClient& client_;
  InferRequest request_;
  Reply reply_;
  std::atomic<uint32_t> is_ready_{0};
};

Future::~Future() {
  if (call_ != nullptr) {
    Get();
  }
}

bool Future::IsReady() const { return call_->IsReady(); }

Reply Future::Get() {
  Check(call_ != nullptr, "Get() is called once");
  InProcessCall* const call = std::exchange(call_, nullptr);
  Reply reply = call->Wait();
  call->ReturnToPool();
  return reply;
}

void Future::Cancel() { call_->Cancel(); }

InProcessClient::InProcessClient(Scheduler& scheduler, int32_t max_calls)
    : scheduler_(scheduler), max_calls_(max_calls) {
  for (int32_t i = 0; i < max_calls; ++i) {
    calls_.push_back(std::make_unique<InProcessCall>(*this));
  }
  MutexLock lock(mutex_);
  for (const std::unique_ptr<InProcessCall>& call : calls_) {
    idle_.push_back(call.get());
  }
}

InProcessClient::~InProcessClient() {
  MutexLock lock(mutex_);
  Check(idle_.size() == calls_.size(), "every future ends before its client");
}

void InProcessClient::Return(InProcessCall& call) {
  MutexLock lock(mutex_);
  idle_.push_back(&call);
}

absl::StatusOr<Future> InProcessClient::Submit(
    const InferArguments& arguments) {
  InProcessCall* call = nullptr;
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      call = idle_.back();
      idle_.pop_back();
    }
  }
  if (call == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("client has at most ", max_calls_, " requests under way"));
  }
  if (absl::Status status = call->Start(arguments); !status.ok()) {
    call->ReturnToPool();
    return status;
  }
  return Future(*call);
}

}  // namespace ferry
