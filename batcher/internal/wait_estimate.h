// WaitEstimate tells a producer when its request could be answered, so that
// admission refuses a request that would miss its deadline instead of queueing
// it to expire.
//
// The scheduler publishes what it knows under its mutex; a producer adds the
// rows that are queued ahead, from live counters. Those rows form full batches,
// which the instances take in turns; then comes the request's own batch.
//
// The estimate of its own batch adds a safety margin: what few batches exceed,
// but at most a quarter of the request's slack. Where service times vary as
// much as deadlines are long, nothing would be admitted otherwise.
//
// The estimate is valid for kValid and eight batches after a batch was started:
// without batches nothing is learned, and one slow moment would refuse requests
// for good. A stale estimate refuses only what has less time than the fastest
// batch ever took. Each kProbe-th request that a stale estimate refuses,
// overall or for the request's shape, is admitted as a probe, one at a
// time.
//
// Thread safety: the Publish functions from one thread at a time, the others
// from any. A reader may see some numbers of an older publication.
#ifndef FERRY_BATCHER_INTERNAL_WAIT_ESTIMATE_H_
#define FERRY_BATCHER_INTERNAL_WAIT_ESTIMATE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "base/clock.h"
#include "base/relaxed_copy.h"
#include "batcher/internal/admission.h"
#include "batcher/service_time.h"

namespace ferry {

class WaitEstimate {
 public:
  static constexpr Duration kValid = std::chrono::milliseconds(10);
  static constexpr int64_t kProbe = 16;

  // How long a request's own batch takes, and how much longer few take.
  struct OwnBatch {
    Duration one_row{0};
    Duration full{0};
    Duration one_row_margin{0};
    Duration full_margin{0};
  };

  struct Queue {
    TimePoint free_at = {};  // the first instance
    TimePoint valid_until = TimePoint::min();
    Duration fastest{0};  // batch there ever was
    int64_t instances = 1;
    int64_t idle_instances = 0;
    // Rows of a full batch as requests come now: less than max_batch_size where
    // a batch is full in requests before.
    int64_t full_rows = 1;
    Duration full_batch{0};  // expected, in the mix of shapes that is queued
    // What batches that are not full add, each shape's last one.
    Duration partial_batches{0};
    OwnBatch own = {};  // of a shape that is not in the table
    int64_t shape_count = 0;
    int64_t shapes_differ = 0;  // 1: more than one shape came
  };

  struct Shape {
    uint64_t key = 0;
    TimePoint valid_until = TimePoint::min();
    OwnBatch own = {};
  };

  struct Level {
    // Part of the device's time that is left to the level while it has work.
    double share = 1;
    int64_t delayed_rows = 0;
  };

  // Publishes the queue's numbers, and those of its shapes, kMaxShapes at most.
  void Publish(const Queue& queue, absl::Span<const Shape> shapes);
  void PublishLevel(int32_t level, const Level& facts);

  // Rows queued before a request.
  struct Ahead {
    int64_t rows_of_level = 0;
    int64_t rows_up_to_level = 0;  // its own level and more urgent ones
  };

  struct Request {
    int32_t rows = 1;
    int32_t level = 0;
    uint64_t shape_key = 0;
    TimePoint due = kNever;
  };

  // Rows of the level that a request in time overtakes.
  int64_t DelayedRows(int32_t level) const {
    return levels_[static_cast<size_t>(level)].Load().delayed_rows;
  }

  // Returns when the request would be answered, with the safety margin.
  TimePoint FinishOf(const Request& request, const Ahead& ahead,
                     TimePoint now) const;

  // Returns whether a request that would miss its deadline is admitted all the
  // same, to learn whether the estimate still holds.
  bool TakeProbe(uint64_t shape_key, TimePoint now);

 private:
  // Returns the shape's numbers, or those of all that is in the queue; these
  // are not valid for it where shapes differ.
  Shape ShapeOf(const Queue& queue, uint64_t shape_key) const;

  RelaxedCopy<Queue> queue_;
  std::array<RelaxedCopy<Shape>, ServiceTimes::kMaxShapes> shapes_;
  std::array<RelaxedCopy<Level>, kMaxLevels> levels_;
  std::atomic<int64_t> refused_stale_{0};
  std::atomic<int64_t> next_probe_ns_{0};
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_WAIT_ESTIMATE_H_
