// LevelShares keeps levels of priority from starving: each level but the most
// urgent is owed kFloor of the rows that start while it has work, and may take
// them before more urgent ones.
//
// Deficit counting (Shreedhar and Varghese, Efficient Fair Queueing using
// Deficit Round Robin, 1995): a level that waits saves up, at most one largest
// batch; a level without work owns nothing.
//
// Beside it stands what other levels take of the device's time while a level
// has work, as a moving average: so much longer its requests wait than their
// number says.
//
// Thread safety: thread-compatible; the batcher thread's.
#ifndef FERRY_BATCHER_LEVEL_SHARES_H_
#define FERRY_BATCHER_LEVEL_SHARES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "batcher/clock.h"

namespace ferry {

class LevelShares {
 public:
  static constexpr double kFloor = 0.05;  // of the rows started

  LevelShares(int32_t levels, int32_t max_batch_size)
      : max_batch_size_(max_batch_size), levels_(static_cast<size_t>(levels)) {}

  int32_t levels() const { return static_cast<int32_t>(levels_.size()); }

  // Rows that the level may take before more urgent ones.
  int32_t Owed(int32_t level) const {
    return static_cast<int32_t>(levels_[static_cast<size_t>(level)].owed_rows);
  }
  // Whether it is owed so many that it may have a batch of its own.
  bool IsOwedABatch(int32_t level) const {
    return Owed(level) >= max_batch_size_;
  }

  // Of the time of batches that start while the level has work, that of others.
  double TakenByOthers(int32_t level) const {
    const Level& its = levels_[static_cast<size_t>(level)];
    return its.time == 0 ? 0 : 1 - its.own_time / its.time;
  }

  // A batch of `batch_rows` started, expected to take `time`, of which `level`
  // had `rows`; `waits` says whether the level has more. Once a level.
  void Started(int32_t level, Duration time, int32_t batch_rows, int32_t rows,
               bool waits) {
    Level& its = levels_[static_cast<size_t>(level)];
    if (rows > 0 || waits) {
      const auto took = static_cast<double>(time.count());
      its.time += kAverageWeight * (took - its.time);
      its.own_time +=
          kAverageWeight * (took * rows / batch_rows - its.own_time);
    }
    if (!waits || level == 0 || rows == batch_rows) {
      its.owed_rows = 0;  // nothing waits; or it is the first; or it led
    } else {
      its.owed_rows = std::clamp(its.owed_rows + kFloor * batch_rows - rows,
                                 0.0, static_cast<double>(max_batch_size_));
    }
  }

 private:
  static constexpr double kAverageWeight = 1.0 / 32;

  struct Level {
    double owed_rows = 0;
    double time = 0;  // a batch, in ns; a moving average
    double own_time = 0;
  };

  const int32_t max_batch_size_;
  std::vector<Level> levels_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_LEVEL_SHARES_H_
