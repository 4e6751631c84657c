// DeviceInstance runs a model on a device that copies in, computes and copies
// out at once. Its batcher thread pulls batches and starts them, so that the
// next is copied in while one computes; another thread waits for the device's
// events and delivers.
//
// Guarantees: those of Instance. A model that throws fails only its batch; a
// device that is lost in any step fails all that follow, and the scheduler is
// told before the first of those requests is.
//
// Thread safety: thread-compatible; its threads are its own.
#ifndef FERRY_BATCHER_DEVICE_INSTANCE_H_
#define FERRY_BATCHER_DEVICE_INSTANCE_H_

#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "batcher/device_model.h"
#include "batcher/instance.h"
#include "batcher/internal/batcher_thread.h"
#include "batcher/internal/device_pipeline.h"

namespace ferry {

class DeviceInstance final : public Instance {
 public:
  // Starts the batcher thread and warms the model up on it. Errors: those of
  // DeviceModel::WarmUp(); INTERNAL where it threw.
  static absl::StatusOr<std::unique_ptr<DeviceInstance>> Create(
      std::unique_ptr<DeviceModel> model);

  ~DeviceInstance() override { Join(); }

  InstanceDescription Describe() const override;
  std::vector<DeviceCount> counts() const override { return model_->counts(); }
  void Start(Scheduler& scheduler, InstanceId id) override;
  void Join() override;

 private:
  explicit DeviceInstance(std::unique_ptr<DeviceModel> model);

  int32_t max_in_flight() const { return model_->places() - 1; }
  void RunBatches(Scheduler& scheduler, InstanceId id);
  void RunEvents(Scheduler& scheduler, InstanceId id);
  // Waits until one more batch may be pulled.
  void AwaitRoom() ABSL_LOCKS_EXCLUDED(mutex_);
  void Push(DevicePipeline::InFlight in_flight) ABSL_LOCKS_EXCLUDED(mutex_);
  // The oldest; waits for one. None: there will be no more.
  std::optional<DevicePipeline::InFlight> Pop() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::unique_ptr<DeviceModel> model_;
  DevicePipeline pipeline_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<DevicePipeline::InFlight> in_flight_ ABSL_GUARDED_BY(mutex_);
  int32_t not_computed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;

  BatcherThread batcher_;
  std::thread events_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_DEVICE_INSTANCE_H_
