// Implements CpuInstance: its batcher thread gathers, computes and delivers.
#include "batcher/cpu_instance.h"

#include <chrono>
#include <new>
#include <utility>

#include "batcher/scheduler.h"

namespace ferry {
namespace {

// A reply takes some 10 us of the thread that sends it. After a short compute
// the batcher thread sends replies itself, which spares a hand-over, until the
// batch has taken so long in all; then it leaves them to the receiving threads,
// and goes on with the next batch.
constexpr Duration kShortCompute = std::chrono::microseconds(300);
constexpr Duration kShortBatch = std::chrono::milliseconds(1);

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
    std::unique_ptr<CpuModel> model) {
  std::unique_ptr<CpuInstance> instance(new CpuInstance(std::move(model)));
  absl::Status status = instance->thread_.WarmUp(
      [&model = *instance->model_] { return model.WarmUp(); },
      [&instance = *instance](Scheduler& scheduler, InstanceId id) {
        instance.Run(scheduler, id);
      });
  if (!status.ok()) {
    return status;
  }
  return instance;
}

CpuInstance::CpuInstance(std::unique_ptr<CpuModel> model)
    : model_(std::move(model)) {}

InstanceDescription CpuInstance::Describe() const {
  const absl::Span<const ServiceTimeSample> samples = model_->warm_up_samples();
  return {.spec = model_->spec(),
          .warm_up_samples = {samples.begin(), samples.end()}};
}

void CpuInstance::Run(Scheduler& scheduler, InstanceId id) {
  while (BatchPtr batch = scheduler.NextBatch(id)) {
    Computed computed = Computed::kOk;
    const BatchTimes times = RunBatch(*batch, computed);
    scheduler.Finished(*batch, id, times, computed);
    const bool is_short = times.compute() < kShortCompute;
    Deliver(std::move(batch),
            is_short ? times.compute_begin + kShortBatch : TimePoint());
  }
}

BatchTimes CpuInstance::RunBatch(Batch& batch, Computed& computed) {
  const TimePoint begin = Clock::Steady().Now();
  BatchTimes times = RunOnce(batch);
  const Outcome& outcome = batch.outcome();
  computed = outcome.ok() ? Computed::kOk : Computed::kFailed;
  if (outcome.ok()) {
    rerun_credit_.Succeeded(times.compute());
  } else if (MustHalve(batch, times.compute_end - begin)) {
    try {
      Batch::Reruns reruns;
      RunHalves(batch, reruns);
      batch.SetResults(std::move(reruns));
    } catch (const std::bad_alloc&) {  // it stays failed
    }
    times.compute_end = Clock::Steady().Now();
  }
  return times;
}

BatchTimes CpuInstance::RunOnce(Batch& batch) {
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
  batch.SetResult(outcome, outcome.ok() ? std::move(output) : OutputRef());
  return times;
}

void CpuInstance::RunHalves(const Batch& failed, Batch::Reruns& reruns) {
  const size_t count = failed.entries().size();
  for (const auto& [first, end] :
       {std::pair(size_t{0}, count / 2), std::pair(count / 2, count)}) {
    std::unique_ptr<Batch> half = failed.Rerun(first, end - first);
    const TimePoint begin = Clock::Steady().Now();
    half->set_times(RunOnce(*half));
    const Duration took = Clock::Steady().Now() - begin;
    rerun_credit_.RanAgain(took);
    if (MustHalve(*half, took)) {
      RunHalves(*half, reruns);
    } else {
      reruns.push_back(std::move(half));
    }
  }
}

}  // namespace ferry
