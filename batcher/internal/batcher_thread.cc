// Implements BatcherThread: warms up, starts and ends the thread.
#include "batcher/internal/batcher_thread.h"

#include <pthread.h>

#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/signal_stack.h"
#include "base/thread_priority.h"

namespace ferry {
namespace {

absl::Status RunWarmUp(const std::function<absl::Status()>& warm_up) {
  try {
    return warm_up();
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  } catch (...) {
    return absl::InternalError("model threw what is no std::exception");
  }
}

}  // namespace

absl::Status BatcherThread::WarmUp(std::function<absl::Status()> warm_up,
                                   PullLoop pull) {
  std::promise<absl::Status> warmed;
  std::future<absl::Status> status = warmed.get_future();
  thread_ =
      std::thread([this, warm_up = std::move(warm_up), pull = std::move(pull),
                   warmed = std::move(warmed)]() mutable {
        pthread_setname_np(pthread_self(), "ferry-batcher");
        const SignalStack for_handlers;  // a model may recurse without end
        UsePreciseTimers();
        warmed.set_value(RunWarmUp(warm_up));
        const Source source = source_.get_future().get();
        if (source.scheduler == nullptr) {
          return;
        }
        // After the warm-up: threads that the model started there may spin.
        UseBatcherPriority();
        pull(*source.scheduler, source.id);
      });
  return status.get();
}

void BatcherThread::Start(Scheduler& scheduler, InstanceId id) {
  is_started_ = true;
  source_.set_value({&scheduler, id});
}

void BatcherThread::Join() {
  if (!thread_.joinable()) {
    return;
  }
  if (!is_started_) {
    source_.set_value({});
  }
  thread_.join();
}

}  // namespace ferry
