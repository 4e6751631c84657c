// LevelShares keeps levels of priority from starving: each level but the most
// urgent gets kFloor of the rows that start while it has work. What it has yet
// to get of them is its deficit, which it may take before more urgent ones.
//
// Deficit counting (Shreedhar and Varghese, Efficient Fair Queueing using
// Deficit Round Robin, 1995): the deficit of a level that waits grows to one
// largest batch at most; a level without work has none.
//
// Beside it stands what other levels take of the device's time while a level
// has work, as a moving average: so much longer its requests wait than their
// number says. What less urgent levels get of a batch that has room counts not.
//
// Thread safety: thread-compatible; the scheduler's.
#ifndef FERRY_BATCHER_INTERNAL_LEVEL_SHARES_H_
#define FERRY_BATCHER_INTERNAL_LEVEL_SHARES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace ferry {

class LevelShares {
 public:
  // A share of the rows started: 5 %, and something for what rounding takes.
  static constexpr double kFloor = 0.055;

  explicit LevelShares(int32_t levels) : levels_(static_cast<size_t>(levels)) {}

  int32_t levels() const { return static_cast<int32_t>(levels_.size()); }

  // Rows that the level may take before more urgent ones.
  int32_t Deficit(int32_t level) const {
    return static_cast<int32_t>(Of(level).deficit_rows);
  }

  // Whether the deficit is as large as it gets: then the first of it joins
  // however large it is, since it may have been admitted when batches were
  // larger.
  bool HasFullDeficit(int32_t level) const {
    return Of(level).has_full_deficit;
  }

  // Returns which part of the time of the batches that start while the level
  // has work goes to others; in [0, 1].
  double TakenByOthers(int32_t level) const {
    const Level& its = Of(level);
    return its.time == 0 ? 0 : its.time_of_others / its.time;
  }

  // A batch as one level sees it.
  struct Started {
    Duration time{0};         // that it is expected to take
    int32_t max_rows = 1;     // it could have held
    int32_t urgent_rows = 0;  // of more urgent levels
    int32_t own_rows = 0;
    int32_t other_rows = 0;  // of less urgent levels
    bool waits = false;      // the level has more
  };

  // Once for each level, when a batch starts.
  void Count(int32_t level, const Started& batch) {
    if (batch.own_rows > 0 || batch.waits) {
      CountTime(levels_[static_cast<size_t>(level)], batch);
    }
    Level& its = levels_[static_cast<size_t>(level)];
    if (!batch.waits || level == 0) {
      its.deficit_rows = 0;
      its.has_full_deficit = false;
      return;
    }
    const int32_t rows = batch.urgent_rows + batch.own_rows + batch.other_rows;
    its.deficit_rows =
        std::clamp(its.deficit_rows + kFloor * rows - batch.own_rows, 0.0,
                   static_cast<double>(batch.max_rows));
    its.has_full_deficit = its.deficit_rows >= batch.max_rows;
  }

 private:
  static constexpr double kAverageWeight = 1.0 / 32;

  struct Level {
    double deficit_rows = 0;
    bool has_full_deficit = false;
    double time = 0;  // of a batch, in ns; a moving average
    double time_of_others = 0;
  };

  const Level& Of(int32_t level) const {
    return levels_[static_cast<size_t>(level)];
  }

  static void CountTime(Level& its, const Started& batch) {
    const int32_t others =
        batch.urgent_rows + (batch.waits ? batch.other_rows : 0);
    double share = batch.own_rows == 0 ? 1 : 0;  // a batch without it
    if (batch.own_rows > 0) {
      share = std::min(1.0, static_cast<double>(others) / batch.max_rows);
    }
    const auto time = static_cast<double>(batch.time.count());
    its.time += kAverageWeight * (time - its.time);
    its.time_of_others += kAverageWeight * (time * share - its.time_of_others);
  }

  std::vector<Level> levels_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_LEVEL_SHARES_H_
