// WaitStretch: how much longer the queue takes than is forecast, learned from
// who was answered in time.
//
// A forecast knows the compute of the batches ahead; between them there are
// wake-ups, replies, and whatever else runs on the machine. So the door adds a
// share to the wait it forecasts, which grows with each request that missed
// and shrinks a little with each that was in time: it settles where kMissed of
// those that could have missed do (stochastic approximation of a quantile;
// Robbins and Monro, 1951). An empty queue has nothing to stretch.
//
// A moment in which the whole queue misses, as when the machine stands still,
// moves it by kMaxGrowth: no forecast could have known.
//
// Thread safety: thread-compatible; the stepper's.
#ifndef FERRY_BATCHER_WAIT_STRETCH_H_
#define FERRY_BATCHER_WAIT_STRETCH_H_

#include <algorithm>

#include "batcher/clock.h"

namespace ferry {

class WaitStretch {
 public:
  static constexpr double kMissed = 0.0025;  // share of those at risk
  static constexpr double kGrowth = 0.005;   // by one that missed
  static constexpr double kMaxGrowth = 0.1;
  static constexpr double kMax = 1;  // the forecast wait once more

  void CountMissed() { growth_ += kGrowth; }

  // Who had more than half of the time left says nothing.
  void CountAnswered(TimePoint arrival, TimePoint due, TimePoint answered) {
    if (answered > due) {
      CountMissed();
    } else if (due - answered < answered - arrival) {
      shrinkage_ += kGrowth * kMissed / (1 - kMissed);
    }
  }

  // The share of the forecast wait to add, from what was counted up to now.
  double Settle() {
    value_ += std::min(growth_, kMaxGrowth) - shrinkage_;
    value_ = std::clamp(value_, 0.0, kMax);
    growth_ = 0;
    shrinkage_ = 0;
    return value_;
  }

 private:
  double value_ = 0;
  double growth_ = 0;
  double shrinkage_ = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_WAIT_STRETCH_H_
