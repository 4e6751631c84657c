// Starting ahead, waiting behind.
#include "models/forward_on_device.h"

#include <cstdint>

namespace ferry {
namespace {

absl::Status StatusOf(const DeviceOutcome& outcome) {
  return outcome.ok()
             ? absl::OkStatus()
             : absl::Status(outcome.outcome.code, outcome.outcome.text);
}

}  // namespace

absl::StatusOr<DeviceForwards> RunOnDevice(StreamModel& model,
                                           const Batch& batch, Duration time,
                                           int min_runs) {
  const Clock& clock = Clock::Steady();
  const int32_t places = model.places();
  const int32_t ahead = places - 1;
  std::vector<OutputRef> outputs(static_cast<size_t>(places));
  DeviceForwards all;
  TimePoint last = TimePoint::min();
  const TimePoint end = clock.Now() + time;
  int64_t started = 0;
  for (int64_t ended = 0;; ++ended) {
    const bool goes_on = clock.Now() < end || ended < min_runs + ahead;
    while (goes_on && started < ended + ahead) {
      const auto place = static_cast<int32_t>(started++ % places);
      DeviceOutcome outcome = model.CopyIn(place, batch);
      if (outcome.ok()) {
        outcome =
            model.Compute(place, batch, outputs[static_cast<size_t>(place)]);
      }
      if (!outcome.ok()) {
        return StatusOf(outcome);
      }
    }
    if (ended == started) {
      return all;
    }
    const auto place = static_cast<int32_t>(ended % places);
    DeviceTimes times;
    const DeviceOutcome computed = model.AwaitComputed(place, times);
    const TimePoint now = clock.Now();
    const DeviceOutcome copied =
        computed.ok() ? model.AwaitCopiedOut(place) : computed;
    outputs[static_cast<size_t>(place)] = OutputRef();
    if (!copied.ok()) {
      return StatusOf(copied);
    }
    if (ended >= ahead && goes_on) {
      all.device.push_back(times);
      all.interval.push_back(now - last);
    }
    last = now;
  }
}

}  // namespace ferry
