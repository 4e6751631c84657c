// Lanes with ends in the future.
#include "batcher/sim/virtual_device.h"

#include <cmath>
#include <utility>

#include "batcher/check.h"

namespace ferry {

VirtualDevice::VirtualDevice(const VirtualDeviceOptions& options,
                             const VirtualClock& clock)
    : options_(options),
      clock_(clock),
      spec_{.inputs = {{"input", DataType::kFp32, {kAnySize}}},
            .outputs = {},
            .max_batch_size = options.max_batch_size},
      warm_up_samples_(
          {ServiceTimeSample{1, ServiceTime(1)},
           {options.max_batch_size, ServiceTime(options.max_batch_size)}}),
      pool_(0, 16),
      random_(options.seed),
      on_lanes_(static_cast<size_t>(options.lanes)) {}

VirtualDevice::~VirtualDevice() {
  while (next_event() != kNever) {
    PlayNext();
  }
}

void VirtualDevice::Start(std::unique_ptr<Batch> batch, BackendEvents& events) {
  events_ = &events;
  events.Staged(*batch);
  for (size_t lane = 0; lane < on_lanes_.size(); ++lane) {
    if (on_lanes_[lane].batch == nullptr) {
      return BeginOn(lane, std::move(batch));
    }
  }
  Check(std::ssize(waiting_) < slots() - lanes(), "a batch has a free slot");
  waiting_.push_back(std::move(batch));
}

void VirtualDevice::BeginOn(size_t lane, std::unique_ptr<Batch> batch) {
  Duration takes = ServiceTime(batch->rows());
  if (options_.jitter > 0) {
    std::uniform_real_distribution<double> factor(1 - options_.jitter,
                                                  1 + options_.jitter);
    takes = Duration(
        std::llround(static_cast<double>(takes.count()) * factor(random_)));
  }
  const TimePoint now = clock_.Now();
  batch->TakeLane(static_cast<int32_t>(lane), now);
  batch->times().compute_begin = now;
  batch->times().compute_end = now + takes;
  on_lanes_[lane] = {std::move(batch), now + takes};
}

size_t VirtualDevice::NextLane() const {
  size_t next = 0;
  for (size_t lane = 1; lane < on_lanes_.size(); ++lane) {
    const bool is_idle = on_lanes_[next].batch == nullptr;
    if (on_lanes_[lane].batch != nullptr &&
        (is_idle || on_lanes_[lane].end < on_lanes_[next].end)) {
      next = lane;
    }
  }
  return next;
}

TimePoint VirtualDevice::next_event() const {
  const Running& next = on_lanes_[NextLane()];
  return next.batch == nullptr ? kNever : next.end;
}

void VirtualDevice::PlayNext() {
  const size_t lane = NextLane();
  std::unique_ptr<Batch> batch = std::move(on_lanes_[lane].batch);
  const Batch::Times& times = batch->times();
  busy_ += times.compute_end - times.compute_begin;
  ++batches_;
  rows_ += batch->rows();
  batch->SetResult({}, pool_.Take());
  events_->ComputeEnded(*batch);
  if (!waiting_.empty()) {
    BeginOn(lane, std::move(waiting_.front()));
    waiting_.pop_front();
  }
  events_->SlotFree();
  events_->Finished(std::move(batch));
}

}  // namespace ferry
