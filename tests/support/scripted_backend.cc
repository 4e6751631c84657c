// The steps of a scripted batch.
#include "tests/support/scripted_backend.h"

#include <utility>

#include "batcher/check.h"
#include "batcher/row_gather.h"

namespace ferry {

ScriptedBackend::ScriptedBackend(const ScriptedBackendOptions& options)
    : options_(options), pool_(options.spec.outputs.size(), 16) {
  Check(options.clock != nullptr, "a scripted backend has a clock");
}

ScriptedBackend::~ScriptedBackend() { CompleteAll(); }

void ScriptedBackend::Start(std::unique_ptr<Batch> batch,
                            BackendEvents& events) {
  Check(used_slots_ < options_.slots, "a batch is started into a free slot");
  if (on_start) {
    on_start(*batch);
  }
  events_ = &events;
  ++used_slots_;
  batch->TakeLane(started_count_ % options_.lanes, options_.clock->Now());
  ++started_count_;
  running_.push_back({std::move(batch), Step::kStage, OutputRef()});
}

InlineRun ScriptedBackend::RunInline(absl::FunctionRef<void()> step) {
  if (!running_.empty()) {
    return InlineRun::kNotLent;
  }
  ++inline_count_;
  step();
  if (on_inline) {
    on_inline();
  }
  return InlineRun::kRan;
}

ScriptedBackend::Running& ScriptedBackend::Expect(size_t index, Step step) {
  Check(index < running_.size(), "that many batches are running");
  Check(running_[index].next == step, "a batch's steps come in their order");
  return running_[index];
}

void ScriptedBackend::Stage(size_t index) {
  Running& running = Expect(index, Step::kStage);
  const Batch& batch = *running.batch;
  running.output = pool_.Take();
  for (size_t i = 0; i < options_.spec.inputs.size(); ++i) {
    HostOutputPool::Layout(*running.output.get(), i, batch.rows(),
                           options_.spec.inputs[i].type, batch.row_dims(i));
    GatherRows(batch, i, running.output->tensors()[i].data);
  }
  running.batch->times().compute_begin = options_.clock->Now();
  running.next = Step::kEndCompute;
  events_->Staged(*running.batch);
}

void ScriptedBackend::EndCompute(size_t index, Outcome outcome) {
  Running& running = Expect(index, Step::kEndCompute);
  running.batch->times().compute_end = options_.clock->Now();
  OutputRef output = std::exchange(running.output, OutputRef());
  running.batch->SetResult(outcome,
                           outcome.ok() ? std::move(output) : OutputRef());
  running.next = Step::kFreeSlot;
  events_->ComputeEnded(*running.batch);
}

void ScriptedBackend::FreeSlot(size_t index) {
  Running& running = Expect(index, Step::kFreeSlot);
  running.next = Step::kFinish;
  --used_slots_;
  events_->SlotFree();
}

void ScriptedBackend::Finish(size_t index) {
  Expect(index, Step::kFinish);
  std::unique_ptr<Batch> batch = std::move(running_[index].batch);
  running_.erase(running_.begin() + static_cast<ptrdiff_t>(index));
  events_->Finished(std::move(batch));
}

void ScriptedBackend::Advance(size_t index, Outcome outcome) {
  Check(index < running_.size(), "that many batches are running");
  switch (running_[index].next) {
    case Step::kStage:
      return Stage(index);
    case Step::kEndCompute:
      return EndCompute(index, outcome);
    case Step::kFreeSlot:
      return FreeSlot(index);
    case Step::kFinish:
      return Finish(index);
  }
}

void ScriptedBackend::Complete(size_t index, Outcome outcome) {
  const size_t before = running_.size();
  while (running_.size() == before) {
    Advance(index, outcome);
  }
}

void ScriptedBackend::CompleteAll() {
  while (!running_.empty()) {
    Complete(0);
  }
}

void ScriptedBackend::Break() {
  Check(events_ != nullptr, "a backend breaks after its first batch");
  events_->Broken({absl::StatusCode::kUnavailable, "device fell off the bus"});
}

}  // namespace ferry
