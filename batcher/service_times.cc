// The place of a shape: its own, a free one, or that of the one not seen for
// the longest.
#include "batcher/service_times.h"

#include <algorithm>
#include <utility>

namespace ferry {

ServiceTimes::ServiceTimes(int32_t max_rows, std::vector<int32_t> buckets)
    : max_rows_(max_rows),
      buckets_(std::move(buckets)),
      all_(max_rows_, buckets_) {
  shapes_.reserve(kMaxShapes);
}

void ServiceTimes::Learn(const ServiceTimeSample& sample, uint64_t shape_key) {
  if (shape_key != 0) {
    LearnShape(PlaceOf(shape_key), sample);
  }
  all_.Learn(sample);
}

void ServiceTimes::LearnShape(Shape& shape, const ServiceTimeSample& sample) {
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

void ServiceTimes::Tried(uint64_t shape_key, TimePoint now) {
  for (Shape& shape : shapes_) {
    if (shape.key == shape_key) {
      shape.tried_at = now;
    }
  }
}

const ServiceTimeModel& ServiceTimes::Of(uint64_t shape_key) const {
  if (shape_key != 0 && shapes_differ()) {
    for (const Shape& shape : shapes_) {
      if (shape.key == shape_key && IsHeard(shape)) {
        return shape.model;
      }
    }
  }
  return all_;
}

ServiceTimes::Shape& ServiceTimes::PlaceOf(uint64_t shape_key) {
  const auto own =
      std::find_if(shapes_.begin(), shapes_.end(),
                   [&](const Shape& shape) { return shape.key == shape_key; });
  if (own != shapes_.end()) {
    return *own;
  }
  if (shapes_.size() < kMaxShapes) {
    return shapes_.emplace_back(Shape{
        .key = shape_key, .model = ServiceTimeModel(max_rows_, buckets_)});
  }
  Shape& place = *std::min_element(shapes_.begin(), shapes_.end(),
                                   [](const Shape& a, const Shape& b) {
                                     return a.last_learned < b.last_learned;
                                   });
  place.key = shape_key;
  place.batches = 0;
  place.tried_at = TimePoint::min();
  return place;
}

}  // namespace ferry
