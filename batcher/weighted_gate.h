// WeightedGate lets a number of lanes compute at once and shares the device's
// time among models by weight.
//
// Start-time fair queueing (Goyal, Vin and Cheng, 1996): each share counts the
// time it used over its weight, and of those that wait the one that used least
// goes first. A share that comes back from idling starts level with the least
// of the active ones: it saves nothing up, and so starves nobody.
//
// It is work-conserving: who is alone has the device. A batch is not
// interrupted, so a share gets ahead by one batch at most.
//
// Thread safety: thread-safe; GateFree() is called under its lock.
#ifndef FERRY_BATCHER_WEIGHTED_GATE_H_
#define FERRY_BATCHER_WEIGHTED_GATE_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "batcher/device_gate.h"
#include "batcher/mutex.h"

namespace ferry {

class WeightedGate final : public DeviceGate {
 public:
  // At most `permits` clients compute at once; >= 1.
  explicit WeightedGate(int32_t permits);

  bool TryEnter(GateClient& client) override;
  void Leave(GateClient& client, Duration taken) override;

 private:
  void Activate(GateShare& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Deactivate(GateShare& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetNextIn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  int32_t free_permits_ ABSL_GUARDED_BY(mutex_);
  std::vector<GateClient*> waiting_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::vector<GateShare*> active_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_BATCHER_WEIGHTED_GATE_H_
