// The two threads of a DeviceInstance.
#include "batcher/device_instance.h"

#include <pthread.h>

#include <exception>
#include <utility>

#include "batcher/scheduler.h"
#include "batcher/thread_priority.h"

namespace ferry {

absl::StatusOr<std::unique_ptr<DeviceInstance>> DeviceInstance::Create(
    std::unique_ptr<DeviceModel> model) {
  std::unique_ptr<DeviceInstance> instance(
      new DeviceInstance(std::move(model)));
  std::future<absl::Status> warm = instance->warm_.get_future();
  instance->batcher_ =
      std::thread([&instance = *instance] { instance.RunBatches(); });
  if (absl::Status status = warm.get(); !status.ok()) {
    return status;
  }
  return instance;
}

DeviceInstance::DeviceInstance(std::unique_ptr<DeviceModel> model)
    : model_(std::move(model)), pipeline_(*model_, Clock::Steady()) {}

DeviceInstance::~DeviceInstance() {
  if (!is_started_) {
    source_.set_value({});
  }
  Join();
}

void DeviceInstance::Start(Scheduler& scheduler, InstanceId id) {
  is_started_ = true;
  const Source source = {&scheduler, id};
  events_ = std::thread([this, source] { RunEvents(source); });
  source_.set_value(source);
}

void DeviceInstance::Join() {
  if (batcher_.joinable()) {
    batcher_.join();
  }
  if (events_.joinable()) {
    events_.join();
  }
}

void DeviceInstance::RunBatches() {
  pthread_setname_np(pthread_self(), "ferry-batcher");
  UsePreciseTimers();
  absl::Status warmed;
  try {
    warmed = model_->WarmUp();
  } catch (const std::exception& error) {
    warmed = absl::InternalError(error.what());
  } catch (...) {
    warmed = absl::InternalError("model threw what is no std::exception");
  }
  warm_.set_value(std::move(warmed));
  const Source source = source_.get_future().get();
  if (source.scheduler == nullptr) {
    return;
  }
  RaiseThreadPriority();
  for (;;) {
    AwaitRoom();
    BatchPtr batch = source.scheduler->NextBatch(source.id);
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

void DeviceInstance::RunEvents(Source source) {
  pthread_setname_np(pthread_self(), "ferry-events");
  RaiseThreadPriority();
  while (std::optional<DevicePipeline::InFlight> in_flight = Pop()) {
    BatchTimes times;
    const Computed computed = pipeline_.Await(*in_flight, times);
    source.scheduler->Finished(*in_flight->batch, source.id, times, computed);
    {
      MutexLock lock(mutex_);
      --not_computed_;
    }
    changed_.SignalAll();
    Deliver(pipeline_.Unload(*std::move(in_flight)));
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
