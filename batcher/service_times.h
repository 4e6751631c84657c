// ServiceTimes: how long batches take, of all shapes together and of each shape
// that came lately. Where rows may differ in size, a batch of long ones can
// take many times that of short ones, and an average of both is neither's.
//
// A shape begins as a multiple of what is known of all, by its second batch:
// the first may have built kernels. From its kEnough-th on it speaks for
// itself; before, and where more shapes come by turns than there are places,
// all speak. While no two shapes came there is nothing but all.
//
// Thread safety: thread-compatible; the stepper's. Allocates nothing after
// construction.
#ifndef FERRY_BATCHER_SERVICE_TIMES_H_
#define FERRY_BATCHER_SERVICE_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batcher/service_time_model.h"

namespace ferry {

class ServiceTimes {
 public:
  static constexpr size_t kMaxShapes = 16;
  static constexpr int32_t kEnough = 4;  // batches

  // As of ServiceTimeModel.
  ServiceTimes(int32_t max_rows, const std::vector<int32_t>& buckets);

  // `shape_key` as of InferRequest; 0: of no shape, as in warm-up.
  void Learn(const ServiceTimeSample& sample, uint64_t shape_key);

  const ServiceTimeModel& all() const { return all_; }
  // That of the shape, or that of all.
  const ServiceTimeModel& Of(uint64_t shape_key) const;

  // Calls visit(shape_key, model) for those that speak for themselves.
  template <typename Visit>
  void VisitShapes(const Visit& visit) const {
    for (const Shape& shape : shapes_) {
      if (IsHeard(shape)) {
        visit(shape.key, shape.model);
      }
    }
  }

 private:
  struct Shape {
    uint64_t key = 0;  // 0: a free place
    int32_t batches = 0;
    uint64_t last_learned = 0;
    ServiceTimeModel model;
  };

  bool IsHeard(const Shape& shape) const {
    return known_ > 1 && shape.batches >= kEnough;
  }
  Shape& PlaceOf(uint64_t shape_key);

  ServiceTimeModel all_;
  std::vector<Shape> shapes_;
  uint64_t learned_ = 0;  // batches of shapes
  size_t known_ = 0;      // places that are taken
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SERVICE_TIMES_H_
