// Implements ScriptedInstances: pulls, and the steps of their batches.
#include "tests/support/scripted_instances.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "batcher/row_gather.h"

namespace ferry {

ScriptedInstances::ScriptedInstances(const ScriptedInstancesOptions& options)
    : options_(options),
      pool_(options.spec.outputs.size(), 16),
      is_waiting_(static_cast<size_t>(options.count)) {
  Check(options.clock != nullptr, "scripted instances have a clock");
}

ScriptedInstances::~ScriptedInstances() { CompleteAll(); }

PulledInstances ScriptedInstances::pulled() const {
  return {.each = {.spec = options_.spec,
                   .max_in_flight = options_.max_in_flight,
                   .warm_up_samples = options_.warm_up_samples},
          .count = options_.count};
}

void ScriptedInstances::Attach(Scheduler& scheduler) {
  scheduler_ = &scheduler;
}

int32_t ScriptedInstances::computing_count() const {
  return static_cast<int32_t>(std::count_if(
      running_.begin(), running_.end(),
      [](const Running& each) { return each.next != Step::kFinish; }));
}

bool ScriptedInstances::HasRoom(InstanceId id) const {
  return !is_held_ && std::count_if(running_.begin(), running_.end(),
                                    [id](const Running& each) {
                                      return each.instance == id &&
                                             each.next != Step::kFinish;
                                    }) < options_.max_in_flight;
}

void ScriptedInstances::PullOnce(InstanceId id) {
  BatchPtr batch = scheduler_->TryNextBatch(id);
  is_waiting_[static_cast<size_t>(id)] = batch == nullptr;
  if (batch == nullptr) {
    return;
  }
  if (on_start) {
    on_start(*batch);
  }
  ++started_count_;
  running_.push_back({std::move(batch), id, Step::kStage, OutputRef(), {}});
}

void ScriptedInstances::Pull() {
  for (InstanceId id = 0; id < options_.count; ++id) {
    is_waiting_[static_cast<size_t>(id)] = false;
    while (HasRoom(id) && !is_waiting_[static_cast<size_t>(id)]) {
      PullOnce(id);
    }
  }
}

bool ScriptedInstances::IsPullDue(InstanceId id) const {
  return HasRoom(id) &&
         (!is_waiting_[static_cast<size_t>(id)] || scheduler_->IsNotified(id) ||
          options_.clock->Now() >= scheduler_->PullAt(id));
}

bool ScriptedInstances::IsPullDue() const {
  for (InstanceId id = 0; id < options_.count; ++id) {
    if (IsPullDue(id)) {
      return true;
    }
  }
  return false;
}

bool ScriptedInstances::PullWhatIsDue() {
  bool has_pulled = false;
  for (InstanceId id = 0; id < options_.count; ++id) {
    while (IsPullDue(id)) {
      PullOnce(id);
      has_pulled = true;
    }
  }
  return has_pulled;
}

TimePoint ScriptedInstances::pull_at() const {
  TimePoint at = kNever;
  for (InstanceId id = 0; id < options_.count; ++id) {
    if (HasRoom(id)) {
      at = std::min(at, scheduler_->PullAt(id));
    }
  }
  return at;
}

ScriptedInstances::Running& ScriptedInstances::Expect(size_t index, Step step) {
  Check(index < running_.size(), "that many batches are running");
  Check(running_[index].next == step, "a batch's steps come in their order");
  return running_[index];
}

void ScriptedInstances::Stage(size_t index) {
  Running& running = Expect(index, Step::kStage);
  const Batch& batch = *running.batch;
  running.output = pool_.Take();
  for (size_t i = 0; i < options_.spec.inputs.size(); ++i) {
    HostOutputPool::Layout(*running.output.get(), i, batch.rows(),
                           options_.spec.inputs[i].type, batch.row_dims(i));
    GatherRows(batch, i, running.output->tensors()[i].data);
  }
  running.compute_begin = options_.clock->Now();
  running.next = Step::kEndCompute;
}

void ScriptedInstances::EndCompute(size_t index, Outcome outcome) {
  EndCompute(index, outcome, outcome.ok() ? Computed::kOk : Computed::kFailed);
}

void ScriptedInstances::EndCompute(size_t index, Outcome outcome,
                                   Computed computed) {
  Running& running = Expect(index, Step::kEndCompute);
  OutputRef output = std::exchange(running.output, OutputRef());
  running.batch->SetResult(outcome,
                           outcome.ok() ? std::move(output) : OutputRef());
  running.next = Step::kFinish;
  scheduler_->Finished(*running.batch, running.instance,
                       {.compute_begin = running.compute_begin,
                        .compute_end = options_.clock->Now()},
                       computed);
}

void ScriptedInstances::Finish(size_t index) {
  Expect(index, Step::kFinish);
  BatchPtr batch = std::move(running_[index].batch);
  running_.erase(running_.begin() + static_cast<ptrdiff_t>(index));
  Deliver(std::move(batch), has_time ? kNever : TimePoint());
}

void ScriptedInstances::Advance(size_t index, Outcome outcome) {
  Check(index < running_.size(), "that many batches are running");
  switch (running_[index].next) {
    case Step::kStage:
      return Stage(index);
    case Step::kEndCompute:
      return EndCompute(index, outcome);
    case Step::kFinish:
      return Finish(index);
  }
}

void ScriptedInstances::Complete(size_t index, Outcome outcome) {
  const size_t before = running_.size();
  while (running_.size() == before) {
    Advance(index, outcome);
  }
}

void ScriptedInstances::CompleteAll() {
  while (!running_.empty()) {
    Complete(0);
  }
}

void ScriptedInstances::Break(size_t index) {
  EndCompute(index, {absl::StatusCode::kInternal, "device fell off the bus"},
             Computed::kDeviceLost);
}

}  // namespace ferry
