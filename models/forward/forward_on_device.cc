// Implements RunOnDevice: starts batches ahead and awaits them in order.
#include "models/forward/forward_on_device.h"

#include <cstdint>
#include <optional>

#include "base/check.h"

namespace ferry {
namespace {

absl::Status StatusOf(const DeviceOutcome& outcome) {
  return outcome.ok()
             ? absl::OkStatus()
             : absl::Status(outcome.outcome.code, outcome.outcome.text);
}

}  // namespace

absl::StatusOr<DeviceForwards> RunOnDevice(DeviceModel& model,
                                           const Batch& batch,
                                           const ForwardLoad& load) {
  const Clock& clock = Clock::Steady();
  const int32_t places = model.places();
  const int32_t ahead = load.ahead;
  Check(ahead >= 1 && ahead < places, "a place is free for what comes next");
  std::vector<OutputRef> outputs(static_cast<size_t>(places));
  DeviceForwards all;
  TimePoint last = TimePoint::min();
  const TimePoint end = clock.Now() + load.time;
  int64_t started = 0;
  for (int64_t ended = 0;; ++ended) {
    const bool goes_on = clock.Now() < end || ended < load.min_runs + ahead;
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
      const auto before = static_cast<int32_t>((ended - 1) % places);
      if (const auto idle = model.IdleBetween(before, place)) {
        all.idle.push_back(*idle);
      }
    }
    last = now;
  }
}

}  // namespace ferry
