// WeightedGate lets a number of lanes compute at once and shares the device's
// time among models by weight.
//
// Start-time fair queueing (Goyal, Vin and Cheng, 1996): each share counts the
// time it used over its weight, and of those that wait the one that used least
// goes first. The virtual time is the count of who was let in last, and where
// nobody is here any more the largest of all. A share that comes back keeps its
// account, but is behind by kCredit at most: so nobody saves much up, is
// forgiven what he used while others waited, or pays for it once there was time
// for all.
//
// A lane comes back with its next batch a moment after it left with the last,
// so a place is kept for a share that leaves and used less than all that wait,
// for kKeep: else models with one lane each would take turns by batch, however
// long theirs are. But for that, no place is empty while somebody waits. A
// batch is not interrupted, so a share gets ahead by one batch a lane at most.
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
  static constexpr Duration kKeep = std::chrono::microseconds(300);
  static constexpr Duration kCredit = std::chrono::milliseconds(20);

  // At most `permits` clients compute at once; >= 1.
  explicit WeightedGate(int32_t permits);

  Turn TryEnter(GateClient& client, TimePoint now) override;
  void Leave(GateClient& client, Duration taken, TimePoint now) override;
  void Forget(GateShare& share) override;

 private:
  void Activate(GateShare& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets who did not come back in time.
  void DropStale(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns until when the next place is kept for somebody who is not there,
  // or kNever.
  TimePoint LetIn(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  int32_t free_permits_ ABSL_GUARDED_BY(mutex_);
  std::vector<GateClient*> waiting_ ABSL_GUARDED_BY(mutex_);  // oldest first
  // Shares with clients, or with a place kept.
  std::vector<GateShare*> active_ ABSL_GUARDED_BY(mutex_);
  double virtual_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  double most_used_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // of any share, ever
};

}  // namespace ferry

#endif  // FERRY_BATCHER_WEIGHTED_GATE_H_
