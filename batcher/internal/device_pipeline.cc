// Implements DevicePipeline: takes a batch through a device with streams.
#include "batcher/internal/device_pipeline.h"

#include <algorithm>
#include <utility>

namespace ferry {
namespace {

constexpr DeviceOutcome kModelThrew = {
    .outcome = {absl::StatusCode::kInternal, "model failed on this batch"}};
constexpr Outcome kNoOutput = {absl::StatusCode::kInternal,
                               "model gave no output for this batch"};

}  // namespace

DevicePipeline::DevicePipeline(DeviceModel& model, const Clock& clock)
    : model_(model), clock_(clock) {}

// Runs one step of a batch that has not failed yet.
template <typename Step>
void DevicePipeline::Do(InFlight& in_flight, const Step& step) {
  if (const char* const lost = lost_.load(std::memory_order_acquire);
      lost != nullptr) {
    in_flight.outcome = {absl::StatusCode::kInternal, lost};
  }
  if (!in_flight.outcome.ok()) {
    return;
  }
  DeviceOutcome done;
  try {
    done = step();
  } catch (...) {
    done = kModelThrew;
  }
  in_flight.outcome = done.outcome;
  if (done.is_lost) {
    lost_.store(done.outcome.text, std::memory_order_release);
  }
}

DevicePipeline::InFlight DevicePipeline::Begin(BatchPtr batch) {
  InFlight in_flight{.batch = std::move(batch),
                     .place = static_cast<int32_t>(begun_++ % model_.places())};
  const TimePoint begin = clock_.Now();
  Do(in_flight,
     [&] { return model_.CopyIn(in_flight.place, *in_flight.batch); });
  in_flight.gather = clock_.Now() - begin;
  return in_flight;
}

void DevicePipeline::Submit(InFlight& in_flight) {
  Do(in_flight, [&] {
    in_flight.submitted = clock_.Now();
    return model_.Compute(in_flight.place, *in_flight.batch, in_flight.output);
  });
}

Computed DevicePipeline::Await(InFlight& in_flight, BatchTimes& times) {
  DeviceTimes took;
  Do(in_flight, [&] { return model_.AwaitComputed(in_flight.place, took); });
  const TimePoint now = clock_.Now();
  times.staging = in_flight.gather + took.copy_in;
  times.compute_end = now;
  // The device tells no time of a batch that failed: it had the device since
  // the last one ended.
  times.compute_begin = !in_flight.is_submitted() ? now
                        : in_flight.outcome.ok()
                            ? now - took.compute
                            : std::max(in_flight.submitted, last_compute_end_);
  last_compute_end_ = now;
  return in_flight.outcome.ok() ? Computed::kOk
         : is_lost()            ? Computed::kDeviceLost
                                : Computed::kFailed;
}

// The device may still write the output of a batch that failed on the way: the
// output is not used again before it has ended. A lost device never ends.
void DevicePipeline::SettleOutput(const InFlight& in_flight) {
  if (in_flight.is_submitted()) {
    InFlight rest{.place = in_flight.place};
    Do(rest, [&] { return model_.AwaitCopiedOut(rest.place); });
  }
}

BatchPtr DevicePipeline::Unload(InFlight in_flight) {
  const bool has_failed = !in_flight.outcome.ok();
  Do(in_flight, [&] { return model_.AwaitCopiedOut(in_flight.place); });
  if (has_failed) {
    SettleOutput(in_flight);
  }
  if (in_flight.outcome.ok() && !in_flight.output) {
    in_flight.outcome = kNoOutput;
  }
  if (!in_flight.outcome.ok() && is_lost()) {
    lost_outputs_.push_back(std::move(in_flight.output));
  }
  in_flight.batch->SetResult(
      in_flight.outcome,
      in_flight.outcome.ok() ? std::move(in_flight.output) : OutputRef());
  return std::move(in_flight.batch);
}

}  // namespace ferry
