// ServiceTimes knows how long batches take, of all shapes and of each that came
// lately. Where rows may differ in size, a batch of long ones can take many
// times that of short ones, and an average of both is neither's.
//
// A shape begins as a multiple of what is known of all: the least that three
// batches say, and not its first, which may have built kernels. From its
// kEnough-th batch on it speaks for itself; before, and where more shapes come
// at once than there are places, all speak. While no two shapes came there is
// nothing but all.
//
// Thread safety: thread-compatible; the scheduler's. Allocates for each of the
// first kMaxShapes shapes, and nothing after.
#ifndef FERRY_BATCHER_SERVICE_TIMES_H_
#define FERRY_BATCHER_SERVICE_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "batcher/service_time_model.h"

namespace ferry {

class ServiceTimes {
 public:
  static constexpr size_t kMaxShapes = 16;
  static constexpr int32_t kFirst = 4;    // batches that say how it begins
  static constexpr int32_t kEnough = 12;  // batches

  // As of ServiceTimeModel.
  ServiceTimes(int32_t max_rows, const std::vector<int32_t>& buckets);

  // `shape_key` as of InferRequest; 0: of no shape, as in warm-up.
  void Learn(const ServiceTimeSample& sample, uint64_t shape_key);

  // A batch of that shape was started.
  void Tried(uint64_t shape_key, TimePoint now);

  const ServiceTimeModel& all() const { return all_; }
  // That of the shape, or that of all.
  const ServiceTimeModel& Of(uint64_t shape_key) const;

  // Whether more than one shape came.
  bool shapes_differ() const { return shapes_.size() > 1; }

  struct Shape {
    uint64_t key;
    ServiceTimeModel model;
    int32_t batches = 0;
    double least_ratio = 0;  // of its first ones, to what all expect
    uint64_t last_learned = 0;
    TimePoint tried_at = TimePoint::min();
  };

  // Calls visit(shape) for those that speak for themselves.
  template <typename Visit>
  void VisitShapes(const Visit& visit) const {
    for (const Shape& shape : shapes_) {
      if (IsHeard(shape)) {
        visit(shape);
      }
    }
  }

 private:
  bool IsHeard(const Shape& shape) const {
    return shapes_differ() && shape.batches >= kEnough;
  }
  // Returns the shape's own place, a free one, or that of the shape that was
  // not seen for the longest.
  Shape& PlaceOf(uint64_t shape_key);

  const ServiceTimeModel none_;  // nothing was learned
  ServiceTimeModel all_;
  std::vector<Shape> shapes_;
  uint64_t learned_ = 0;  // batches of shapes
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SERVICE_TIMES_H_
