// ForecastBounds computes the latest and the earliest moment that the batcher
// may forecast for an answer, from nothing but what was started and how long it
// took. The batcher is wrong if it refuses or drops a call that even the latest
// would answer in time, or lets in one that not even the earliest would.
//
// The time of a batch: a line through times that were seen, with no coefficient
// below zero, passes at full size at most the longest of them at its rows; a
// deviation is the difference of two such times. A quarter more is for what a
// line through few batches, or that of another shape, errs.
//
// The queue's time: each row ahead is a batch of its own and takes as long as a
// full one, on all instances; and one batch is the last of another shape. Where
// others are more urgent the level has as little of the time as any may have.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_BATCHER_SIMULATION_FORECAST_H_
#define FERRY_TESTS_BATCHER_SIMULATION_FORECAST_H_

#include <cstdint>

#include "tests/support/stepped_scheduler.h"

namespace ferry {

class ForecastBounds {
 public:
  explicit ForecastBounds(const SteppedSchedulerOptions& options);

  // --- what happened ---
  void Started(TimePoint now) { last_start_ = now; }
  // A batch ended well.
  void Computed(int32_t rows, Duration took);
  // A step ended, with so many batches that were started and not computed.
  void Stepped(int32_t computing);

  // --- what that allows ---
  // Whether anything is known.
  bool has_times() const { return has_times_; }

  // Whether the batcher may still go by how long batches take; surely not once
  // none was started for long.
  bool IsForecastValid(TimePoint now) const;

  struct Request {
    int32_t rows = 1;
    int32_t rows_of_level = 0;     // queued, of its level
    int32_t rows_up_to_level = 0;  // and of more urgent ones
  };

  // The latest answer that admission may expect.
  TimePoint LatestAnswer(const Request& request, TimePoint now) const;

  // The latest end of a batch that closes now.
  TimePoint LatestEnd(TimePoint now) const;

  // A call that is due before that is not let in without a valid forecast.
  TimePoint EarliestAnswer(TimePoint now) const {
    return has_times_ ? now + fastest_ : now;
  }

 private:
  // The longest that a batch may be expected to take.
  Duration LongestBatch() const { return full_ * 5 / 4; }
  // Until an instance is free.
  Duration LongestTurn(int32_t computing) const;

  const int32_t max_rows_;
  const int32_t instances_;
  const int32_t max_in_flight_;
  const bool has_levels_;
  bool has_times_ = false;
  Duration full_{0};  // if each row takes as long as any ever did
  Duration slowest_{0};
  Duration fastest_{0};
  TimePoint last_start_ = TimePoint::min();
  int32_t computing_ = 0;  // at its last step
};

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_SIMULATION_FORECAST_H_
