// The threads of a StreamBackend.
#include "batcher/stream_backend.h"

#include <pthread.h>

#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "batcher/check.h"
#include "batcher/thread_priority.h"

namespace ferry {

absl::StatusOr<std::unique_ptr<StreamBackend>> StreamBackend::Create(
    std::unique_ptr<StreamModel> model, const StreamBackendOptions& options) {
  Check(model != nullptr && model->places() >= 2 && options.weight > 0,
        "a backend has a model, places and a weight");
  std::unique_ptr<StreamBackend> backend(
      new StreamBackend(std::move(model), options));
  if (absl::Status status = backend->Begin(); !status.ok()) {
    return status;
  }
  return backend;
}

StreamBackend::StreamBackend(std::unique_ptr<StreamModel> model,
                             const StreamBackendOptions& options)
    : options_(options),
      model_(std::move(model)),
      gate_(options.gate == nullptr ? open_gate_ : *options.gate),
      share_{.weight = options.weight},
      pipeline_(*model_, *options.clock) {
  for (int32_t place = 0; place < model_->places(); ++place) {
    turns_.emplace_back(share_);
  }
}

StreamBackend::~StreamBackend() {
  const auto end = [](std::thread& thread) {
    if (thread.joinable()) {  // it was started
      thread.join();
    }
  };
  to_start_.Close();
  end(starter_);
  under_way_.Close();
  end(waiter_);
  to_deliver_.Close();
  end(deliverer_);
  gate_.Forget(share_);
}

void StreamBackend::Start(std::unique_ptr<Batch> batch, BackendEvents& events) {
  to_start_.Push({std::move(batch), &events});
}

absl::Status StreamBackend::Begin() {
  starter_ = std::thread([this] { RunStarts(); });
  waiter_ = std::thread([this] { RunWaits(); });
  deliverer_ = std::thread([this] { RunDeliveries(to_deliver_); });
  MutexLock lock(warm_up_mutex_);
  while (!is_warm_) {
    warm_up_changed_.Wait(warm_up_mutex_);
  }
  return warm_up_result_;
}

void StreamBackend::RunStarts() {
  pthread_setname_np(pthread_self(), "ferry-start");
  UsePreciseTimers();
  absl::Status warmed;
  try {
    warmed = model_->WarmUp();
  } catch (const std::exception& error) {
    warmed = absl::InternalError(error.what());
  } catch (...) {
    warmed = absl::InternalError("model threw what is no std::exception");
  }
  {
    MutexLock lock(warm_up_mutex_);
    is_warm_ = true;
    warm_up_result_ = std::move(warmed);
  }
  warm_up_changed_.SignalAll();
  RaiseThreadPriority();
  IdleWait idle(options_.max_poll);
  for (;;) {
    Work work = to_start_.Pop(idle);
    if (work.batch == nullptr) {
      return;
    }
    StreamPipeline::Flight flight = pipeline_.Begin(std::move(work));
    turn_of(flight).Enter(gate_, *options_.clock);
    pipeline_.Launch(flight);
    under_way_.Push(std::move(flight));
    idle.WorkEnded();
  }
}

void StreamBackend::RunWaits() {
  pthread_setname_np(pthread_self(), "ferry-wait");
  RaiseThreadPriority();
  while (std::optional<StreamPipeline::Flight> flight = under_way_.Pop()) {
    pipeline_.Land(*flight);
    // First, so that what comes next finds the gate open.
    const Batch::Times& times = flight->work.batch->times();
    turn_of(*flight).Leave(gate_, times.compute_end - times.compute_begin,
                           options_.clock->Now());
    pipeline_.FreeSlot(*flight);
    Work work = pipeline_.Unload(*std::move(flight));
    if (DeliversInline(*work.batch)) {
      work.events->Finished(std::move(work.batch));
    } else {
      to_deliver_.Push(std::move(work));
    }
  }
}

bool StreamBackend::DeliversInline(const Batch& batch) const {
  // Parts of one request are copied together: no work for who waits.
  return std::ssize(batch.entries()) <= options_.max_inline_replies &&
         !batch.has_parts();
}

}  // namespace ferry
