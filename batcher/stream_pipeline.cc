// A batch's way through a device with streams.
#include "batcher/stream_pipeline.h"

#include <algorithm>
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
  // From now on somebody may ask why it does not end.
  batch.TakeLane(/*lane=*/0, begin);
  Do(flight, [&] { return model_.CopyIn(flight.place, batch); });
  flight.gather = clock_.Now() - begin;
  flight.work.events->Staged(batch);
  return flight;
}

void StreamPipeline::Launch(Flight& flight) {
  Do(flight, [&] {
    flight.launched = clock_.Now();
    return model_.Compute(flight.place, *flight.work.batch, flight.output);
  });
}

void StreamPipeline::Land(Flight& flight) {
  DeviceTimes took;
  Do(flight, [&] { return model_.AwaitComputed(flight.place, took); });
  if (!flight.is_launched()) {
    return;
  }
  const TimePoint now = clock_.Now();
  Batch::Times& times = flight.work.batch->times();
  times.staging = flight.gather + took.copy_in;
  // What failed has no time of the device: it held it since the last one ended.
  times.compute_begin = flight.outcome.ok()
                            ? now - took.compute
                            : std::max(flight.launched, last_compute_end_);
  times.lane_begin = times.compute_begin;
  times.compute_end = now;
  last_compute_end_ = now;
}

void StreamPipeline::FreeSlot(Flight& flight) {
  flight.work.events->ComputeEnded(*flight.work.batch);
  flight.work.events->SlotFree();
}

// Of a flight that failed on the way the device may still write the output:
// nobody else gets that before it has ended. Of a lost device that is never.
void StreamPipeline::SettleOutput(Flight& flight) {
  if (flight.is_launched() &&
      lost_.load(std::memory_order_acquire) == nullptr) {
    Flight rest{.work = {nullptr, flight.work.events}, .place = flight.place};
    Do(rest, [&] { return model_.AwaitCopiedOut(rest.place); });
  }
}

void StreamPipeline::DropOutput(Flight& flight) {
  if (lost_.load(std::memory_order_acquire) != nullptr) {
    lost_outputs_.push_back(std::move(flight.output));
  }
  flight.output = OutputRef();
}

Work StreamPipeline::Unload(Flight flight) {
  const bool has_failed = !flight.outcome.ok();
  Do(flight, [&] { return model_.AwaitCopiedOut(flight.place); });
  if (has_failed) {
    SettleOutput(flight);
  }
  if (!flight.outcome.ok()) {
    DropOutput(flight);
  } else if (!flight.output) {
    flight.outcome = kNoOutput;
  }
  flight.work.batch->SetResult(flight.outcome, std::move(flight.output));
  return std::move(flight.work);
}

}  // namespace ferry
