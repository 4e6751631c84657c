// DeviceShare lets a number of instances compute at once on a device and shares
// its time among models by weight.
//
// Start-time fair queueing (Goyal, Vin and Cheng, 1996): each model counts the
// time it used over its weight, and of the instances that wait the one whose
// model used least goes first. The virtual time is the count of the model that
// was let in last, and where no model is here any more the largest of all. A
// model that comes back keeps its account, but is behind by kCredit at most: it
// saves little up, is forgiven what it used while others waited, and does not
// pay for it once there was time for all.
//
// An instance comes back with its next batch a moment after it left with the
// last, so a place is kept for a model that leaves and used less than all that
// wait, for kKeep: else models with one instance each would take turns by
// batch, however long their batches are. But for that, no place is empty while
// an instance waits. A batch is not interrupted, so a model gets ahead by one
// batch an instance at most.
//
// An instance asks TryEnter() before its batch is closed, so that the batch
// grows while it waits. Refused, it asks again when its TurnCame() was called,
// or at Turn::ask_again.
//
// Thread safety: thread-safe; TurnCame() is called under its lock.
#ifndef FERRY_BATCHER_DEVICE_SHARE_H_
#define FERRY_BATCHER_DEVICE_SHARE_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

// What the instances of one model have together.
struct ModelShare {
  double weight = 1;  // > 0; of the device's time, against other models

  // --- guarded by the lock of DeviceShare ---
  double used_ns = 0;   // device time over weight
  int32_t clients = 0;  // that compute or wait
  TimePoint kept_until = TimePoint::min();
};

// One instance. Its `share` outlives it.
class ShareClient {
 public:
  explicit ShareClient(ModelShare& its_share) : share(its_share) {}

  // TryEnter() may have another answer now. Never blocks.
  virtual void TurnCame() = 0;

  ModelShare& share;

  // --- guarded by the lock of DeviceShare ---
  enum class State : uint8_t { kOutside, kWaiting, kLetIn };
  State state = State::kOutside;

 protected:
  ~ShareClient() = default;
};

class DeviceShare {
 public:
  static constexpr Duration kKeep = std::chrono::microseconds(300);
  static constexpr Duration kCredit = std::chrono::milliseconds(20);

  struct Turn {
    bool is_let_in = false;
    TimePoint ask_again = kNever;  // if not let in, unless TurnCame() is sooner
  };

  // At most `permits` instances compute at once; >= 1.
  explicit DeviceShare(int32_t permits);

  Turn TryEnter(ShareClient& client, TimePoint now);

  // The client has computed for `taken`. REQUIRES: it was let in.
  void Leave(ShareClient& client, Duration taken, TimePoint now);

  // The client has no work, if it waits or was let in: others are let in
  // instead.
  void LeaveWithoutWork(ShareClient& client, TimePoint now);

  // The model is about to go; none of its clients is here.
  void Forget(ModelShare& share);

 private:
  // `kept_until`: for how long a place is kept for the client's model.
  void Leave(ShareClient& client, Duration taken, TimePoint now,
             TimePoint kept_until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Activate(ModelShare& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets models that did not come back in time.
  void DropStale(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns until when the next place is kept for a model that is not here, or
  // kNever.
  TimePoint LetIn(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  int32_t free_permits_ ABSL_GUARDED_BY(mutex_);
  std::vector<ShareClient*> waiting_ ABSL_GUARDED_BY(mutex_);  // oldest first
  // Models with clients, or with a place kept.
  std::vector<ModelShare*> active_ ABSL_GUARDED_BY(mutex_);
  double virtual_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  double most_used_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // of any model, ever
};

}  // namespace ferry

#endif  // FERRY_BATCHER_DEVICE_SHARE_H_
