// LoadMeter tells how many rows a second arrive at a model, over the last
// minute and over 5 s, by what was counted from time to time. CapacityOf()
// tells how many its instances carry; one over the other is the model's load
// (docs/load.md). No number (NaN) stands for what is not known.
//
// Thread safety: thread-compatible.
#ifndef FERRY_SERVER_CONTROL_LOAD_METER_H_
#define FERRY_SERVER_CONTROL_LOAD_METER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>

#include "base/clock.h"
#include "batcher/statistics.h"
#include "server/control/model_counts.h"

namespace ferry {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// What a model has counted so far.
struct LoadCounts {
  uint64_t arrived_rows = 0;
  BatchTotals served;
};

struct ArrivalRates {
  double last_minute = kUnknown;  // rows a second
  double last_5s = kUnknown;
  double rows_per_batch = kUnknown;  // in the last minute that had batches
};

struct ModelLoad {
  double capacity = kUnknown;  // rows a second
  double last_minute = kUnknown;
  double last_5s = kUnknown;
};

// The sum over the models whose load is known, over the last 5 s.
struct ServerLoad {
  double ratio = kUnknown;
  double rows_per_second = kUnknown;
};

class LoadMeter {
 public:
  static constexpr Duration kMinute = std::chrono::seconds(60);
  static constexpr Duration kShort = std::chrono::seconds(5);
  // Counts that are closer together are left out.
  static constexpr Duration kLeast = std::chrono::milliseconds(250);

  // Returns the rates up to the last count that was not left out; over the time
  // since the first where that is shorter. REQUIRES: neither goes back.
  ArrivalRates Add(TimePoint now, const LoadCounts& counts);

 private:
  struct Count {
    TimePoint at;
    LoadCounts of;
  };

  // The newest that is so old, else the oldest.
  const Count& Before(Duration window) const;
  double RateOver(Duration window) const;

  // Oldest first, of which one at most is a minute old.
  std::deque<Count> counts_;
  double rows_per_batch_ = kUnknown;
};

// Returns the rows a second that so many instances carry in full batches. Where
// each request has a batch of its own, batches are as full as they were in the
// last minute; else they have `max_batch_size` rows. No number before any time
// was learned.
double CapacityOf(const SchedulerStatistics& counted, int32_t max_batch_size,
                  bool has_own_batches, double rows_per_batch,
                  int64_t instances);

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_LOAD_METER_H_
