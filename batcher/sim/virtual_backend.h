// VirtualBackend: a Backend on a clock that its user moves: hours of load in
// seconds, and the same numbers each time. VirtualClock is that clock.
//
// Thread safety: one thread, which also steps the batcher.
#ifndef FERRY_BATCHER_SIM_VIRTUAL_BACKEND_H_
#define FERRY_BATCHER_SIM_VIRTUAL_BACKEND_H_

#include <cstdint>

#include "batcher/backend.h"
#include "batcher/clock.h"

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

class VirtualBackend : public Backend {
 public:
  // When something happens next, or kNever.
  virtual TimePoint next_event() const = 0;

  // REQUIRES: the clock stands at next_event().
  virtual void PlayNext() = 0;

  // Of what has been computed so far, on all lanes.
  virtual Duration busy() const = 0;
  virtual int64_t batches() const = 0;
  virtual int64_t rows() const = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_VIRTUAL_BACKEND_H_
