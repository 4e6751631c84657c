// Implements BatcherTarget: pools calls, and reads the scheduler's statistics.
#include "bench/local/batcher_target.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "batcher/statistics.h"

namespace ferry::bench {

class BatcherTarget::Call final : public Completion {
 public:
  explicit Call(BatcherTarget& owner) : owner_(owner) {
    request_.timeout = owner.options_.timeout;
    request_.level = owner.options_.level;
    request_.completion = this;
  }

  absl::Status Start(const RequestInputs& brought, Caller& caller) {
    caller_ = &caller;
    request_.Reset();
    request_.inputs = brought.inputs;
    request_.rows = brought.rows;
    request_.bytes = brought.bytes;
    request_.shape_key = brought.shape_key;
    return owner_.scheduler_->Submit(request_);
  }

  InferRequest& request() { return request_; }

  void Respond(const RequestResult& result) override {
    Caller& caller = *caller_;
    const absl::StatusCode code = result.outcome.code;
    owner_.Return(*this);
    caller.Ended(code);
  }

 private:
  BatcherTarget& owner_;
  InferRequest request_;
  Caller* caller_ = nullptr;
};

BatcherTarget::BatcherTarget(std::unique_ptr<Scheduler> scheduler,
                             std::vector<RequestInputs> requests,
                             const Options& options)
    : requests_(std::move(requests)),
      options_(options),
      scheduler_(std::move(scheduler)) {}

// The scheduler first: it answers what it has.
BatcherTarget::~BatcherTarget() { scheduler_.reset(); }

void BatcherTarget::Send(uint64_t number, Caller& caller) {
  Call& call = Take();
  const RequestInputs& brought = requests_[number % requests_.size()];
  if (const absl::Status status = call.Start(brought, caller); !status.ok()) {
    Return(call);
    refused_.Add(caller, status.code());
  }
}

// It knows nothing of requests that are not under way; they do no harm.
void BatcherTarget::CancelAll() {
  std::vector<Call*> all;
  {
    MutexLock lock(mutex_);
    for (const std::unique_ptr<Call>& call : calls_) {
      all.push_back(call.get());
    }
  }
  for (Call* const call : all) {
    scheduler_->Cancel(call->request());
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

// Returns what the server answers to ModelStatistics and writes in its metrics.
ServerCounters BatcherCounters::Read() const {
  ServerCounters counters;
  const SchedulerStatistics counted = scheduler_.Snapshot();
  counters.metrics_at = counters.statistics_at = Clock::Steady().Now();
  counters.has_statistics = true;
  const BatchStatistics& served = counted.served;
  const uint64_t requests = served.ok_requests();
  counters.rows = served.ok_rows.value();
  counters.queue = {requests, served.queue_wait.sum()};
  counters.compute_input = {requests, served.stage_ns_of_requests.value()};
  counters.compute_infer = {requests, served.compute_ns_of_requests.value()};
  counters.compute_output = {requests, served.deliver.sum()};
  for (size_t rows = 1; rows < served.by_rows.size(); ++rows) {
    if (const uint64_t batches = served.by_rows[rows].batches.value();
        batches > 0) {
      counters.executions += batches;
      counters.batches[rows] = batches;
      counters.compute_ns += served.by_rows[rows].compute_ns.value();
    }
  }
  for (size_t reason = 0; reason < kCloseReasonCount; ++reason) {
    counters.closed[CloseReasonName(static_cast<CloseReason>(reason))] =
        served.closed_batches[reason].value();
  }
  BusySeconds& busy = counters.busy.emplace();
  for (const Duration instance : counted.busy) {
    busy.seconds += std::chrono::duration<double>(instance).count();
  }
  busy.instances = static_cast<int32_t>(counted.busy.size());
  return counters;
}

int32_t BatcherCounters::instances() const {
  return std::max(static_cast<int32_t>(scheduler_.Snapshot().busy.size()), 1);
}

}  // namespace ferry::bench
