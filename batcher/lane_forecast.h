// LaneForecast: when the backend's lanes will be free, from what was started on
// them and how long it was expected to take.
//
// Batches are taken to compute in the order in which they were started, each
// on the lane that is free first; and the one that ends to be the one that was
// expected to end first. Who is late is expected to end now.
//
// Thread safety: thread-compatible; the batcher thread's. Allocates nothing
// after construction.
#ifndef FERRY_BATCHER_LANE_FORECAST_H_
#define FERRY_BATCHER_LANE_FORECAST_H_

#include <cstdint>
#include <vector>

#include "batcher/clock.h"

namespace ferry {

class LaneForecast {
 public:
  // At most `max_batches` are under way at once.
  LaneForecast(int32_t lanes, int32_t max_batches);

  // A batch was started that takes `expected` once it has a lane.
  void Started(TimePoint now, Duration expected);

  // The compute of one batch has ended. REQUIRES: one is under way.
  void Ended(TimePoint now);

  // Lanes without a batch.
  int32_t idle_lanes() const;

  // When one more batch could begin to compute: `now` or later.
  TimePoint FreeAt(TimePoint now) const;

 private:
  const size_t lanes_;
  std::vector<TimePoint> ends_;    // of batches on lanes, ascending
  std::vector<Duration> waiting_;  // what those take that wait for a lane
  mutable std::vector<TimePoint> scratch_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_LANE_FORECAST_H_
