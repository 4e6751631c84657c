// Implements Infer() and Future: a request that keeps a promise of its answer.
#include "batcher/future.h"

#include <chrono>
#include <utility>

namespace ferry {

class Future::Call final : public Completion {
 public:
  Call(Scheduler& scheduler, const InferArguments& arguments)
      : scheduler_(scheduler) {
    request_.inputs = arguments.inputs;
    request_.rows = arguments.rows;
    request_.deadline = arguments.deadline;
    request_.completion = this;
    for (const TensorView& input : arguments.inputs) {
      for (const ByteSegment& segment : input.segments) {
        request_.bytes += segment.size;
      }
    }
    if (RequestsMayDiffer(scheduler.spec())) {
      request_.shape_key = ShapeKey(arguments.inputs);
    }
  }

  absl::Status Submit() { return scheduler_.Submit(request_); }
  void Cancel() { scheduler_.Cancel(request_); }
  std::future<Reply> reply() { return promise_.get_future(); }

  void Respond(const RequestResult& result) override {
    // Once the promise is kept the reader may destroy this.
    std::promise<Reply> promise = std::move(promise_);
    promise.set_value({result.outcome, OutputRef(result.rows.buffer),
                       result.rows.first, result.rows.count});
  }

 private:
  Scheduler& scheduler_;
  InferRequest request_;
  std::promise<Reply> promise_;
};

Future::Future(std::unique_ptr<Call> call, std::future<Reply> reply)
    : call_(std::move(call)), reply_(std::move(reply)) {}

Future::Future(Future&& other) noexcept = default;

Future& Future::operator=(Future&& other) noexcept {
  std::swap(call_, other.call_);
  std::swap(reply_, other.reply_);
  return *this;
}

Future::~Future() {
  if (reply_.valid()) {
    reply_.wait();
  }
}

bool Future::IsReady() const {
  return reply_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

Reply Future::Get() { return reply_.get(); }

void Future::Cancel() { call_->Cancel(); }

absl::StatusOr<Future> Infer(Scheduler& scheduler,
                             const InferArguments& arguments) {
  auto call = std::make_unique<Future::Call>(scheduler, arguments);
  std::future<Reply> reply = call->reply();
  if (absl::Status status = call->Submit(); !status.ok()) {
    return status;
  }
  return Future(std::move(call), std::move(reply));
}

}  // namespace ferry
