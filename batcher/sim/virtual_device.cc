// Implements VirtualDevice: instances whose batches end at computed moments.
#include "batcher/sim/virtual_device.h"

#include <cmath>
#include <utility>

namespace ferry {

VirtualDevice::VirtualDevice(const VirtualDeviceOptions& options,
                             const VirtualClock& clock)
    : VirtualInstances(clock),
      options_(options),
      clock_(clock),
      pool_(0, 16),
      random_(options.seed),
      copies_(static_cast<size_t>(options.instances)) {}

VirtualDevice::~VirtualDevice() {
  while (next_event() != kNever) {
    PlayNext();
  }
}

PulledInstances VirtualDevice::pulled() const {
  return {.each = {.max_in_flight = options_.max_in_flight,
                   .warm_up_samples = {{.rows = 1, .took = ServiceTime(1)},
                                       {.rows = options_.max_batch_size,
                                        .took = ServiceTime(
                                            options_.max_batch_size)}}},
          .count = options_.instances};
}

bool VirtualDevice::HasRoom(InstanceId id) const {
  return std::ssize(copies_[static_cast<size_t>(id)].batches) <
         options_.max_in_flight;
}

void VirtualDevice::Begin(InstanceId id, BatchPtr batch) {
  Copy& copy = copies_[static_cast<size_t>(id)];
  copy.batches.push_back(std::move(batch));
  if (copy.batches.size() == 1) {
    Compute(copy);
  }
}

void VirtualDevice::Compute(Copy& copy) {
  Duration takes = ServiceTime(copy.batches.front()->rows());
  if (options_.jitter > 0) {
    std::uniform_real_distribution<double> factor(1 - options_.jitter,
                                                  1 + options_.jitter);
    takes = Duration(
        std::llround(static_cast<double>(takes.count()) * factor(random_)));
  }
  copy.begin = clock_.Now();
  copy.end = copy.begin + takes;
}

size_t VirtualDevice::NextCopy() const {
  size_t next = 0;
  for (size_t i = 1; i < copies_.size(); ++i) {
    const bool is_idle = copies_[next].batches.empty();
    if (!copies_[i].batches.empty() &&
        (is_idle || copies_[i].end < copies_[next].end)) {
      next = i;
    }
  }
  return next;
}

TimePoint VirtualDevice::next_event() const {
  const Copy& next = copies_[NextCopy()];
  return next.batches.empty() ? kNever : next.end;
}

void VirtualDevice::PlayNext() {
  const size_t index = NextCopy();
  Copy& copy = copies_[index];
  BatchPtr batch = std::move(copy.batches.front());
  copy.batches.pop_front();
  const BatchTimes times = {.compute_begin = copy.begin,
                            .compute_end = copy.end};
  busy_ += times.compute();
  ++batches_;
  rows_ += batch->rows();
  if (!copy.batches.empty()) {
    Compute(copy);
  }
  batch->SetResult({}, pool_.Take());
  scheduler().Finished(*batch, static_cast<InstanceId>(index), times,
                       Computed::kOk);
  Deliver(std::move(batch));
}

}  // namespace ferry
