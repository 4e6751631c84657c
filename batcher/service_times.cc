// Implements ServiceTimes: gives shapes their places, and says how they begin.
#include "batcher/service_times.h"

#include <algorithm>

namespace ferry {

ServiceTimes::ServiceTimes(int32_t max_rows,
                           const std::vector<int32_t>& buckets)
    : none_(max_rows, buckets), all_(none_) {
  shapes_.reserve(kMaxShapes);
}

void ServiceTimes::Learn(const ServiceTimeSample& sample, uint64_t shape_key) {
  if (shape_key != 0) {
    Shape& shape = PlaceOf(shape_key);
    shape.last_learned = ++learned_;
    ++shape.batches;
    if (shape.batches > kFirst) {
      shape.model.Learn(sample);
    } else if (shape.batches > 1) {
      const double ratio = all_.RatioOf(sample);
      shape.least_ratio =
          shape.batches == 2 ? ratio : std::min(shape.least_ratio, ratio);
      shape.model.StartFrom(all_, shape.least_ratio);
    }
  }
  all_.Learn(sample);
}

void ServiceTimes::Tried(uint64_t shape_key, TimePoint now) {
  const auto shape = std::ranges::find(shapes_, shape_key, &Shape::key);
  if (shape != shapes_.end()) {
    shape->tried_at = now;
  }
}

const ServiceTimeModel& ServiceTimes::Of(uint64_t shape_key) const {
  const auto shape = std::ranges::find(shapes_, shape_key, &Shape::key);
  return shape != shapes_.end() && IsHeard(*shape) ? shape->model : all_;
}

ServiceTimes::Shape& ServiceTimes::PlaceOf(uint64_t shape_key) {
  const auto own = std::ranges::find(shapes_, shape_key, &Shape::key);
  if (own != shapes_.end()) {
    return *own;
  }
  if (shapes_.size() < kMaxShapes) {
    return shapes_.emplace_back(Shape{.key = shape_key, .model = none_});
  }
  Shape& place = *std::ranges::min_element(shapes_, {}, &Shape::last_learned);
  place.key = shape_key;
  place.batches = 0;
  place.tried_at = TimePoint::min();
  return place;
}

}  // namespace ferry
