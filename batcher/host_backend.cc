// The threads of a HostBackend.
#include "batcher/host_backend.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <utility>

#include "batcher/check.h"
#include "batcher/thread_priority.h"

namespace ferry {
namespace {

constexpr Outcome kModelThrew = {absl::StatusCode::kInternal,
                                 "model failed on this batch"};
constexpr Outcome kNoOutput = {absl::StatusCode::kInternal,
                               "model gave no output for this batch"};

// For how long the replies of a batch that computed for so long may wait for
// the thread that delivers to look, instead of its being woken.
Duration Patience(Duration compute) {
  return std::min<Duration>(compute / 16, std::chrono::microseconds(250));
}

// Whether batches of so many rows can be expected to take about as long.
bool IsLike(int32_t rows, int32_t other_rows) {
  return 8 * std::abs(rows - other_rows) <= rows;
}

// Runs one step of a model; an exception becomes an outcome.
template <typename Step>
Outcome Guarded(Step&& step) {
  try {
    return step();
  } catch (...) {
    return kModelThrew;
  }
}

// What batches of such a model take can be told from how many rows they have.
bool HasRowsOfOneSize(const ModelSpec& spec) {
  return std::none_of(
      spec.inputs.begin(), spec.inputs.end(), [](const TensorSpec& input) {
        return input.type == DataType::kBytes ||
               std::count(input.dims.begin(), input.dims.end(), kAnySize) > 0;
      });
}

bool StagesAhead(const std::vector<std::unique_ptr<HostModel>>& models,
                 const HostBackendOptions& options) {
  return models.size() == 1 && options.slots_per_lane > 1 &&
         models.front()->staging_places() >= options.slots_per_lane;
}

Duration MaxInlineRun(const std::vector<std::unique_ptr<HostModel>>& models,
                      const HostBackendOptions& options, bool stages_ahead) {
  const HostModel& model = *models.front();
  return models.size() == 1 && (options.slots_per_lane == 1 || stages_ahead) &&
                 model.runs_on_any_thread() && HasRowsOfOneSize(model.spec())
             ? options.max_inline_run
             : Duration(0);
}

Duration ComputeTime(const Batch& batch) {
  return batch.times().compute_end - batch.times().compute_begin;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostBackend>> HostBackend::Create(
    std::vector<std::unique_ptr<HostModel>> models,
    const HostBackendOptions& options) {
  Check(!models.empty() && options.slots_per_lane >= 1 && options.weight > 0,
        "a backend has lanes, slots and a weight");
  std::unique_ptr<HostBackend> backend(
      new HostBackend(std::move(models), options));
  if (absl::Status status = backend->StartLanes(); !status.ok()) {
    return status;
  }
  return backend;
}

HostBackend::HostBackend(std::vector<std::unique_ptr<HostModel>> models,
                         const HostBackendOptions& options)
    : options_(options),
      models_(std::move(models)),
      gate_(options.gate == nullptr ? open_gate_ : *options.gate),
      share_{.weight = options.weight},
      stages_ahead_(StagesAhead(models_, options)),
      max_inline_run_(MaxInlineRun(models_, options, stages_ahead_)) {
  for (const std::unique_ptr<HostModel>& model : models_) {
    lanes_.emplace_back(*model, share_);
  }
}

HostBackend::~HostBackend() {
  to_stage_.Close();
  if (stager_.joinable()) {
    stager_.join();
  }
  to_compute_.Close();
  for (std::thread& executor : executors_) {
    executor.join();
  }
  to_deliver_.Close();
  if (deliverer_.joinable()) {
    deliverer_.join();
  }
  gate_.Forget(share_);
}

void HostBackend::Start(std::unique_ptr<Batch> batch, BackendEvents& events) {
  Work work = {std::move(batch), &events, /*number=*/started_++};
  const bool is_lane_busy =
      in_flight_.fetch_add(1, std::memory_order_relaxed) > 0;
  if (is_lane_busy && stages_ahead_) {
    to_stage_.Push(std::move(work));
  } else if (inline_thread_.load(std::memory_order_relaxed) ==
                 std::this_thread::get_id() &&
             inline_work_.batch == nullptr) {
    inline_work_ = std::move(work);
  } else {
    to_compute_.Push(std::move(work));
  }
}

InlineRun HostBackend::RunInline(absl::FunctionRef<void()> step) {
  Lane& lane = lanes_.front();
  if (max_inline_run_ == Duration(0) || !to_compute_.HasSleeper() ||
      in_flight_.load(std::memory_order_relaxed) > 0 || !lane.mutex.TryLock()) {
    return InlineRun::kNotLent;
  }
  inline_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  step();
  inline_thread_.store({}, std::memory_order_relaxed);
  Work work = std::exchange(inline_work_, {});
  const InlineRun run = work.batch == nullptr
                            ? InlineRun::kStepped
                            : RunStarted(lane, std::move(work));
  lane.mutex.Unlock();
  return run;
}

InlineRun HostBackend::RunStarted(Lane& lane, Work work) {
  const Clock& clock = *options_.clock;
  if (!lane.turn.TryEnter(gate_, clock.Now())) {
    lane.turn.Leave(gate_, Duration(0), clock.Now());
    to_compute_.Push(std::move(work));  // its executor may wait
    return InlineRun::kStepped;
  }
  work.batch->TakeLane(0, clock.Now());
  RunBatch(lane, std::move(work));
  if (lane.turn.is_let_in()) {  // it could not be staged
    lane.turn.Leave(gate_, Duration(0), clock.Now());
  }
  return InlineRun::kRan;
}

absl::Status HostBackend::StartLanes() {
  for (int32_t lane = 0; lane < lanes(); ++lane) {
    executors_.emplace_back([this, lane] { RunLane(lane); });
  }
  if (stages_ahead_) {
    stager_ = std::thread([this] { RunStaging(); });
  }
  deliverer_ = std::thread([this] {
    RunDeliveries(to_deliver_,
                  [this](BackendEvents& events) { FreeSlots(events); });
  });
  MutexLock lock(warm_up_mutex_);
  while (warm_up_results_.size() < models_.size()) {
    warm_up_changed_.Wait(warm_up_mutex_);
  }
  for (const absl::Status& result : warm_up_results_) {
    if (!result.ok()) {
      return result;
    }
  }
  return absl::OkStatus();
}

void HostBackend::RunLane(int32_t index) {
  pthread_setname_np(pthread_self(), "ferry-lane");
  UsePreciseTimers();
  Lane& lane = lanes_[static_cast<size_t>(index)];
  absl::Status warmed;
  try {
    warmed = lane.model.WarmUp();
  } catch (const std::exception& error) {
    warmed = absl::InternalError(error.what());
  } catch (...) {
    warmed = absl::InternalError("model threw what is no std::exception");
  }
  {
    MutexLock lock(warm_up_mutex_);
    warm_up_results_.push_back(std::move(warmed));
  }
  warm_up_changed_.SignalAll();
  // After the warm-up: threads that the model started there may spin.
  RaiseThreadPriority();
  IdleWait idle(options_.max_poll);
  for (;;) {
    Work work = to_compute_.Pop(idle);
    if (work.batch == nullptr) {
      return;
    }
    {
      MutexLock lock(lane.mutex);
      work.batch->TakeLane(index, options_.clock->Now());
      RunBatch(lane, std::move(work));
    }
    idle.WorkEnded();
  }
}

void HostBackend::RunStaging() {
  pthread_setname_np(pthread_self(), "ferry-stage");
  RaiseThreadPriority();
  HostModel& model = *models_.front();
  IdleWait idle(/*max_poll=*/Duration(0));
  for (;;) {
    Work work = to_stage_.Pop(idle);
    if (work.batch == nullptr) {
      return;
    }
    // Else the lane has one to stage yet, and stages this one after it.
    if (staged_.load(std::memory_order_acquire) == work.number) {
      const TimePoint begin = options_.clock->Now();
      Stage(model, work);
      work.batch->times().staging = options_.clock->Now() - begin;
    }
    to_compute_.Push(std::move(work));
  }
}

void HostBackend::Stage(HostModel& model, Work& work) {
  Batch& batch = *work.batch;
  work.staged = Guarded([&] { return model.Stage(batch); });
  staged_.fetch_add(1, std::memory_order_release);
  work.events->Staged(batch);
}

void HostBackend::RunBatch(Lane& lane, Work work) {
  if (!work.staged.has_value()) {
    Stage(lane.model, work);
  }
  Batch& batch = *work.batch;
  Outcome outcome = *work.staged;
  OutputRef output;
  if (outcome.ok()) {
    outcome = Compute(lane, batch, output);
  }
  if (!outcome.ok()) {
    output = OutputRef();
  } else if (!output) {
    outcome = kNoOutput;
  }
  batch.SetResult(outcome, std::move(output));
  BackendEvents& events = *work.events;
  events.ComputeEnded(batch);
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  const bool is_inline = DeliversInline(lane, batch);
  if (outcome.ok()) {
    lane.last_rows = batch.rows();
    lane.last_compute = ComputeTime(batch);
  }
  if (is_inline) {
    batch.times().holds_lane = true;
    events.Finished(std::move(work.batch));
  }
  // What a step takes is the lane's time, if it has a batch to go on with; the
  // thread that delivers reports the slot then.
  owed_slots_.fetch_add(1, std::memory_order_release);
  bool goes_on = stages_ahead_ && to_compute_.has_work();
  if (is_inline || !goes_on) {
    FreeSlots(events);  // the next batch closes when this lane is free for it
    goes_on = stages_ahead_ && to_compute_.has_work();
  }
  if (!is_inline) {
    // And so is the time to wake that thread.
    to_deliver_.Push(std::move(work),
                     goes_on ? Patience(ComputeTime(batch)) : Duration(0));
  }
}

void HostBackend::FreeSlots(BackendEvents& events) {
  for (int32_t owed = owed_slots_.exchange(0, std::memory_order_acq_rel);
       owed > 0; --owed) {
    events.SlotFree();
  }
}

bool HostBackend::DeliversInline(const Lane& lane, const Batch& batch) const {
  if (batch.has_parts()) {
    return false;  // they are copied together: no work for a lane
  }
  const bool is_like_last = 2 * lane.last_rows >= batch.rows();
  const Duration compute = ComputeTime(batch);
  return std::ssize(batch.entries()) <= options_.max_inline_replies ||
         (is_like_last ? std::min(compute, lane.last_compute) : compute) <
             options_.max_inline_compute;
}

Outcome HostBackend::Compute(Lane& lane, Batch& batch, OutputRef& output) {
  const Clock& clock = *options_.clock;
  lane.turn.Enter(gate_, clock);
  Batch::Times& times = batch.times();
  times.compute_begin = clock.Now();
  if (stages_ahead_ && IsLike(batch.rows(), lane.last_rows) &&
      lane.last_compute >= options_.max_inline_compute &&
      std::ssize(batch.entries()) > options_.max_inline_replies) {
    to_deliver_.Expect(times.compute_begin + lane.last_compute,
                       Patience(lane.last_compute));
  }
  const Outcome outcome =
      Guarded([&] { return lane.model.Compute(batch, output); });
  times.compute_end = clock.Now();
  lane.turn.Leave(gate_, times.compute_end - times.compute_begin,
                  times.compute_end);
  return outcome;
}

}  // namespace ferry
