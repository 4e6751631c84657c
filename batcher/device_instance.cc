// Implements DeviceInstance: runs its batcher thread and its event thread.
#include "batcher/device_instance.h"

#include <pthread.h>

#include <utility>

#include "base/thread_priority.h"
#include "batcher/scheduler.h"

namespace ferry {

absl::StatusOr<std::unique_ptr<DeviceInstance>> DeviceInstance::Create(
    std::unique_ptr<DeviceModel> model) {
  std::unique_ptr<DeviceInstance> instance(
      new DeviceInstance(std::move(model)));
  absl::Status status = instance->batcher_.WarmUp(
      [&model = *instance->model_] { return model.WarmUp(); },
      [&instance = *instance](Scheduler& scheduler, InstanceId id) {
        instance.RunBatches(scheduler, id);
      });
  if (!status.ok()) {
    return status;
  }
  return instance;
}

DeviceInstance::DeviceInstance(std::unique_ptr<DeviceModel> model)
    : model_(std::move(model)), pipeline_(*model_, Clock::Steady()) {}

InstanceDescription DeviceInstance::Describe() const {
  const absl::Span<const ServiceTimeSample> samples = model_->warm_up_samples();
  return {.spec = model_->spec(),
          .max_in_flight = max_in_flight(),
          .warm_up_samples = {samples.begin(), samples.end()}};
}

void DeviceInstance::Start(Scheduler& scheduler, InstanceId id) {
  events_ = std::thread([this, &scheduler, id] { RunEvents(scheduler, id); });
  batcher_.Start(scheduler, id);
}

void DeviceInstance::Join() {
  batcher_.Join();
  if (events_.joinable()) {
    events_.join();
  }
}

void DeviceInstance::RunBatches(Scheduler& scheduler, InstanceId id) {
  for (;;) {
    AwaitRoom();
    BatchPtr batch = scheduler.NextBatch(id);
    if (batch == nullptr) {
      break;
    }
    DevicePipeline::InFlight in_flight = pipeline_.Begin(std::move(batch));
    pipeline_.Submit(in_flight);
    Push(std::move(in_flight));
  }
  MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.SignalAll();
}

void DeviceInstance::RunEvents(Scheduler& scheduler, InstanceId id) {
  pthread_setname_np(pthread_self(), "ferry-events");
  RaiseThreadPriority();
  while (std::optional<DevicePipeline::InFlight> in_flight = Pop()) {
    BatchTimes times;
    const Computed computed = pipeline_.Await(*in_flight, times);
    scheduler.Finished(*in_flight->batch, id, times, computed);
    {
      MutexLock lock(mutex_);
      --not_computed_;
    }
    changed_.SignalAll();
    BatchPtr batch = pipeline_.Unload(*std::move(in_flight));
    if (pipeline_.is_lost()) {
      scheduler.DeviceLost();
    }
    Deliver(std::move(batch));
  }
}

void DeviceInstance::AwaitRoom() {
  MutexLock lock(mutex_);
  while (not_computed_ >= max_in_flight()) {
    changed_.Wait(mutex_);
  }
}

void DeviceInstance::Push(DevicePipeline::InFlight in_flight) {
  {
    MutexLock lock(mutex_);
    in_flight_.push_back(std::move(in_flight));
    ++not_computed_;
  }
  changed_.SignalAll();
}

std::optional<DevicePipeline::InFlight> DeviceInstance::Pop() {
  MutexLock lock(mutex_);
  while (in_flight_.empty()) {
    if (is_closed_) {
      return std::nullopt;
    }
    changed_.Wait(mutex_);
  }
  std::optional<DevicePipeline::InFlight> in_flight =
      std::move(in_flight_.front());
  in_flight_.pop_front();
  return in_flight;
}

}  // namespace ferry
