// Calls of the batcher, pooled.
#include "bench/local/local_targets.h"

#include <array>
#include <utility>

#include "batcher/host_backend.h"

namespace ferry::bench {

class BatcherTarget::Call final : public Completion {
 public:
  explicit Call(BatcherTarget& owner)
      : owner_(owner),
        run_{owner.rows_.data(), owner.rows_.size()},
        inputs_{TensorView{.dims = owner.dims_, .runs = {&run_, 1}}} {
    request_.inputs = inputs_;
    request_.rows = owner.options_.rows;
    request_.bytes = owner.rows_.size();
    request_.timeout = owner.options_.timeout;
    request_.completion = this;
  }

  absl::Status Start(Caller& caller) {
    caller_ = &caller;
    request_.Reset();
    return owner_.batcher_->Submit(request_);
  }

  InferRequest& request() { return request_; }

  void Respond(Outcome outcome, OutputRows, Last) override {
    code_ = outcome.code;
  }

  void Released() override {
    Caller& caller = *caller_;
    const absl::StatusCode code = code_;
    owner_.Return(*this);
    caller.Ended(code);
  }

 private:
  BatcherTarget& owner_;
  const Run run_;
  const std::array<TensorView, 1> inputs_;
  InferRequest request_;
  Caller* caller_ = nullptr;
  absl::StatusCode code_ = absl::StatusCode::kOk;
};

absl::StatusOr<std::unique_ptr<BatcherTarget>> BatcherTarget::Create(
    const BatcherTargetOptions& options) {
  std::unique_ptr<BatcherTarget> target(new BatcherTarget(options));
  std::vector<std::unique_ptr<HostModel>> lanes;
  for (int32_t lane = 0; lane < options.lanes; ++lane) {
    auto model = SimulatedModel::Create(
        {.inputs = {{"input", DataType::kFp32, target->dims_}},
         .outputs = {{"output", DataType::kFp32, target->dims_}},
         .max_batch_size = options.batcher.max_batch_size},
        options.device);
    if (!model.ok()) {
      return model.status();
    }
    lanes.push_back(*std::move(model));
  }
  auto backend = HostBackend::Create(std::move(lanes), {});
  if (!backend.ok()) {
    return backend.status();
  }
  auto batcher = Batcher::Create(*std::move(backend), options.batcher);
  if (!batcher.ok()) {
    return batcher.status();
  }
  target->batcher_ = *std::move(batcher);
  return target;
}

BatcherTarget::BatcherTarget(const BatcherTargetOptions& options)
    : options_(options),
      dims_{options.row_floats},
      rows_(static_cast<size_t>(options.rows) *
            static_cast<size_t>(options.row_floats) * sizeof(float)) {}

// The batcher first: it answers what it has.
BatcherTarget::~BatcherTarget() { batcher_.reset(); }

void BatcherTarget::Send(uint64_t /*number*/, Caller& caller) {
  Call& call = Take();
  if (const absl::Status status = call.Start(caller); !status.ok()) {
    Return(call);
    refused_.Add(caller, status.code());
  }
}

// Of requests that are not under way it knows nothing, and they do no harm.
void BatcherTarget::CancelAll() {
  std::vector<Call*> all;
  {
    MutexLock lock(mutex_);
    for (const std::unique_ptr<Call>& call : calls_) {
      all.push_back(call.get());
    }
  }
  for (Call* const call : all) {
    batcher_->Cancel(call->request());
  }
}

BatcherTarget::Call& BatcherTarget::Take() {
  MutexLock lock(mutex_);
  if (idle_.empty()) {
    calls_.push_back(std::make_unique<Call>(*this));
    return *calls_.back();
  }
  Call* const call = idle_.back();
  idle_.pop_back();
  return *call;
}

void BatcherTarget::Return(Call& call) {
  MutexLock lock(mutex_);
  idle_.push_back(&call);
}

}  // namespace ferry::bench
