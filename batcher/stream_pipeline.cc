// A batch's way through a device with streams.
#include "batcher/stream_pipeline.h"

#include <utility>

namespace ferry {
namespace {

constexpr DeviceOutcome kModelThrew = {
    .outcome = {absl::StatusCode::kInternal, "model failed on this batch"}};
constexpr Outcome kNoOutput = {absl::StatusCode::kInternal,
                               "model gave no output for this batch"};

}  // namespace

StreamPipeline::StreamPipeline(StreamModel& model, const Clock& clock)
    : model_(model), clock_(clock) {}

// Runs one step of a flight that has not failed yet.
template <typename Step>
void StreamPipeline::Do(Flight& flight, Step&& step) {
  if (const char* const lost = lost_.load(std::memory_order_acquire);
      lost != nullptr) {
    flight.outcome = {absl::StatusCode::kInternal, lost};
  }
  if (!flight.outcome.ok()) {
    return;
  }
  DeviceOutcome done;
  try {
    done = step();
  } catch (...) {
    done = kModelThrew;
  }
  flight.outcome = done.outcome;
  if (done.is_lost) {
    NoteLost(flight);
  }
}

void StreamPipeline::NoteLost(const Flight& flight) {
  const char* expected = nullptr;
  if (lost_.compare_exchange_strong(expected, flight.outcome.text,
                                    std::memory_order_acq_rel)) {
    flight.work.events->Broken(flight.outcome);
  }
}

StreamPipeline::Flight StreamPipeline::Begin(Work work) {
  Flight flight{.work = std::move(work),
                .place = static_cast<int32_t>(begun_++ % model_.places())};
  Batch& batch = *flight.work.batch;
  const TimePoint begin = clock_.Now();
  Do(flight, [&] { return model_.CopyIn(flight.place, batch); });
  flight.gather = clock_.Now() - begin;
  flight.work.events->Staged(batch);
  return flight;
}

void StreamPipeline::Launch(Flight& flight) {
  Batch& batch = *flight.work.batch;
  // From now on somebody may ask why it does not end.
  batch.TakeLane(/*lane=*/0, clock_.Now());
  Do(flight,
     [&] { return model_.Compute(flight.place, batch, flight.output); });
}

void StreamPipeline::Land(Flight& flight) {
  DeviceTimes took;
  Do(flight, [&] { return model_.AwaitComputed(flight.place, took); });
  Batch& batch = *flight.work.batch;
  if (flight.outcome.ok()) {
    const TimePoint now = clock_.Now();
    Batch::Times& times = batch.times();
    times.staging = flight.gather + took.copy_in;
    times.lane_begin = now - took.compute;
    times.compute_begin = times.lane_begin;
    times.compute_end = now;
  }
}

void StreamPipeline::FreeSlot(Flight& flight) {
  flight.work.events->ComputeEnded(*flight.work.batch);
  flight.work.events->SlotFree();
}

Work StreamPipeline::Unload(Flight flight) {
  Do(flight, [&] { return model_.AwaitCopiedOut(flight.place); });
  if (!flight.outcome.ok()) {
    flight.output = OutputRef();
  } else if (!flight.output) {
    flight.outcome = kNoOutput;
  }
  flight.work.batch->SetResult(flight.outcome, std::move(flight.output));
  return std::move(flight.work);
}

}  // namespace ferry
