// LaneForecast: when the backend's lanes will be free, from what was started on
// them and how long it was expected to take.
//
// Batches take a lane in the order in which they were started, each the one
// that is free first. Who is late is expected to end now.
//
// Thread safety: thread-compatible; the stepper's. Allocates nothing
// after construction.
#ifndef FERRY_BATCHER_LANE_FORECAST_H_
#define FERRY_BATCHER_LANE_FORECAST_H_

#include <cstdint>
#include <vector>

#include "batcher/clock.h"

namespace ferry {

class Batch;

class LaneForecast {
 public:
  // At most `max_batches` are under way at once.
  LaneForecast(int32_t lanes, int32_t max_batches);

  // A batch was started that takes `expected` once it has a lane.
  void Started(const Batch& batch, TimePoint now, Duration expected);

  // Its compute ended at `end`; nothing if that is known already.
  void Ended(const Batch& batch, TimePoint end);

  // Lanes without a batch.
  int32_t idle_lanes() const;

  // Whether a batch waits for a lane.
  bool batch_waits() const {
    return static_cast<int32_t>(under_way_.size()) > lanes_;
  }

  // Expected compute of the longest batch that is under way; 0: none is.
  Duration longest() const;

  // When one more batch could begin to compute: `now` or later.
  TimePoint FreeAt(TimePoint now) const;

 private:
  struct UnderWay {
    const Batch* batch;
    Duration expected;
    TimePoint end;  // kNever: it waits for a lane
  };

  int32_t on_lanes() const;

  const int32_t lanes_;
  std::vector<UnderWay> under_way_;  // in the order in which they were started
  mutable std::vector<TimePoint> ends_;  // of FreeAt(), to allocate nothing
};

}  // namespace ferry

#endif  // FERRY_BATCHER_LANE_FORECAST_H_
