// VirtualInstances are instances on a clock that their user moves: hours of
// load in seconds, and the same numbers each time. VirtualClock is that clock.
//
// They pull from a scheduler without threads exactly when the threads of real
// instances and of the timer would: when they have room and were notified, or
// when it is time.
//
// Thread safety: one thread.
#ifndef FERRY_BATCHER_SIM_VIRTUAL_INSTANCES_H_
#define FERRY_BATCHER_SIM_VIRTUAL_INSTANCES_H_

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "batcher/scheduler.h"

namespace ferry {

class VirtualClock final : public Clock {
 public:
  static constexpr TimePoint kStart = TimePoint() + std::chrono::hours(1);

  TimePoint Now() const override { return now_; }
  // REQUIRES: not before Now().
  void MoveTo(TimePoint now) { now_ = now; }

 private:
  TimePoint now_ = kStart;
};

class VirtualInstances {
 public:
  virtual ~VirtualInstances() = default;

  // What a scheduler is created for.
  virtual PulledInstances pulled() const = 0;

  // From now on they pull from `scheduler`, which outlives the batches that
  // they have.
  void Attach(Scheduler& scheduler);

  // Pulls, and does the timer's work, as far as it is time. REQUIRES: attached.
  void Pull();

  // When Pull() is to be called at the latest, unless something is submitted.
  TimePoint next_pull() const;

  // When something happens on the device next, or kNever.
  virtual TimePoint next_event() const = 0;

  // REQUIRES: the clock stands at next_event().
  virtual void PlayNext() = 0;

  // These tell what all instances have computed so far.
  virtual Duration busy() const = 0;
  virtual int64_t batches() const = 0;
  virtual int64_t rows() const = 0;

 protected:
  explicit VirtualInstances(const Clock& clock) : clock_(clock) {}

  Scheduler& scheduler() { return *scheduler_; }

 private:
  // Whether the instance may pull one more batch.
  virtual bool HasRoom(InstanceId id) const = 0;
  virtual void Begin(InstanceId id, BatchPtr batch) = 0;

  bool PullsNow(InstanceId id) const;

  const Clock& clock_;
  Scheduler* scheduler_ = nullptr;
  std::vector<bool> is_waiting_;  // [instance]: its last pull brought nothing
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_VIRTUAL_INSTANCES_H_
