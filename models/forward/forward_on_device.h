// RunOnDevice runs batches of a model on a device, one behind the other, some
// of them in flight at a time: what ferry-forward measures with --device.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_FORWARD_FORWARD_ON_DEVICE_H_
#define FERRY_MODELS_FORWARD_FORWARD_ON_DEVICE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "batcher/batch.h"
#include "batcher/device_model.h"

namespace ferry {

struct ForwardLoad {
  Duration time{0};
  int min_runs = 1;
  // Batches under way; 1: each begins when the one before was copied out.
  int32_t ahead = 2;
};

// The times of each batch but the first ones, which fill the device.
struct DeviceForwards {
  std::vector<DeviceTimes> device;
  std::vector<Duration> interval;  // since the batch before was computed
  // The device's, from that batch's compute to this one's; empty where it does
  // not say.
  std::vector<Duration> idle;
};

// Runs the batch again and again for that long, and at least `min_runs` times.
// REQUIRES: the model is warmed up; 1 <= load.ahead < model.places().
absl::StatusOr<DeviceForwards> RunOnDevice(DeviceModel& model,
                                           const Batch& batch,
                                           const ForwardLoad& load);

}  // namespace ferry

#endif  // FERRY_MODELS_FORWARD_FORWARD_ON_DEVICE_H_
