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
#include "batcher/service_time.h"
#include "batcher/statistics.h"

namespace ferry {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Rows a second.
struct ArrivalRates {
  double last_minute = kUnknown;
  double last_5s = kUnknown;
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

  // `rows` have arrived in all. Returns the rates up to the last count that was
  // not left out; over the time since the first where that is shorter.
  // REQUIRES: neither goes back.
  ArrivalRates Add(TimePoint now, uint64_t rows);

 private:
  struct Count {
    TimePoint at;
    uint64_t rows = 0;
  };

  double RateOver(Duration window) const;

  // Oldest first, of which one at most is a minute old.
  std::deque<Count> counts_;
};

// Returns the rows a second that so many instances carry in batches of `rows`,
// rows * instances / s(rows), by the line s(b) that was learned; no number
// before there is one.
double CapacityOf(const ServiceTimeLine& line, double rows, int64_t instances);

// Returns the rows of a full batch: max_batch_size; where a batch has one
// request alone, what its batches had on average, as they will not be fuller.
double FullBatchRows(const BatchStatistics& served, int32_t max_batch_size,
                     int32_t max_requests_per_batch);

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_LOAD_METER_H_
