// The batcher thread of a CpuInstance.
#include "batcher/cpu_instance.h"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <iterator>

#include "batcher/scheduler.h"
#include "batcher/thread_priority.h"

namespace ferry {
namespace {

constexpr Outcome kModelThrew = {absl::StatusCode::kInternal,
                                 "model failed on this batch"};
constexpr Outcome kNoOutput = {absl::StatusCode::kInternal,
                               "model gave no output for this batch"};

// Runs one step of a model; an exception becomes an outcome.
template <typename Step>
Outcome Guarded(const Step& step) {
  try {
    return step();
  } catch (...) {
    return kModelThrew;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuInstance>> CpuInstance::Create(
    std::unique_ptr<CpuModel> model, const Options& options) {
  std::unique_ptr<CpuInstance> instance(
      new CpuInstance(std::move(model), options));
  std::future<absl::Status> warm = instance->warm_.get_future();
  instance->thread_ = std::thread([&instance = *instance] { instance.Run(); });
  if (absl::Status status = warm.get(); !status.ok()) {
    return status;
  }
  return instance;
}

CpuInstance::CpuInstance(std::unique_ptr<CpuModel> model,
                         const Options& options)
    : options_(options), model_(std::move(model)) {}

CpuInstance::~CpuInstance() {
  if (!is_started_) {
    source_.set_value({});
  }
  Join();
}

void CpuInstance::Start(Scheduler& scheduler, InstanceId id) {
  is_started_ = true;
  delivery_ = std::make_unique<DeliveryThread>();
  source_.set_value({&scheduler, id});
}

void CpuInstance::Join() {
  if (thread_.joinable()) {
    thread_.join();
  }
  delivery_.reset();  // delivers what it has
}

void CpuInstance::Run() {
  pthread_setname_np(pthread_self(), "ferry-batcher");
  UsePreciseTimers();
  absl::Status warmed;
  try {
    warmed = model_->WarmUp();
  } catch (const std::exception& error) {
    warmed = absl::InternalError(error.what());
  } catch (...) {
    warmed = absl::InternalError("model threw what is no std::exception");
  }
  warm_.set_value(std::move(warmed));
  const Source source = source_.get_future().get();
  if (source.scheduler == nullptr) {
    return;
  }
  // After the warm-up: threads that the model started there may spin.
  RaiseThreadPriority();
  Scheduler& scheduler = *source.scheduler;
  while (BatchPtr batch = scheduler.NextBatch(source.id)) {
    bool has_failed = false;
    const BatchTimes times = RunBatch(*batch, has_failed);
    scheduler.Finished(*batch, source.id, times,
                       has_failed ? Computed::kFailed : Computed::kOk);
    const Duration compute = times.compute_end - times.compute_begin;
    const bool is_here = IsDeliveredHere(*batch, compute);
    last_compute_ = compute;
    last_rows_ = batch->rows();
    if (is_here) {
      Deliver(std::move(batch));
    } else {
      delivery_->Push(std::move(batch));
    }
  }
}

BatchTimes CpuInstance::RunBatch(Batch& batch, bool& has_failed) {
  const Clock& clock = Clock::Steady();
  OutputRef output;
  Outcome outcome = Guarded([&] { return model_->Gather(batch); });
  BatchTimes times;
  times.compute_begin = times.compute_end = clock.Now();
  if (outcome.ok()) {
    outcome = Guarded([&] { return model_->Compute(batch, output); });
    times.compute_end = clock.Now();
    if (outcome.ok() && !output) {
      outcome = kNoOutput;
    }
  }
  has_failed = !outcome.ok();
  batch.SetResult(outcome, has_failed ? OutputRef() : std::move(output));
  return times;
}

// A batch that was slow after a fast one of half its rows or more counts as
// fast: others had the processor meanwhile, and one more thread that wants it
// does not help.
bool CpuInstance::IsDeliveredHere(const Batch& batch, Duration compute) const {
  if (batch.has_parts()) {
    return false;  // to copy them together is no work for this thread
  }
  const bool is_like_last = 2 * last_rows_ >= batch.rows();
  return std::ssize(batch.entries()) <= options_.max_own_replies ||
         (is_like_last ? std::min(compute, last_compute_) : compute) <
             options_.max_own_compute;
}

}  // namespace ferry
