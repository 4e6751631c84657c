// Implements ServiceTimes: gives a shape its own place, a free one, or that of
// the shape that was not seen for the longest.
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

size_t ServiceTimes::Find(uint64_t shape_key) const {
  size_t place = 0;
  while (place < shapes_.size() && shapes_[place].key != shape_key) {
    ++place;
  }
  return place;
}

void ServiceTimes::Tried(uint64_t shape_key, TimePoint now) {
  const size_t place = Find(shape_key);
  if (place < shapes_.size()) {
    shapes_[place].tried_at = now;
  }
}

const ServiceTimeModel& ServiceTimes::Of(uint64_t shape_key) const {
  const size_t place = Find(shape_key);
  return place < shapes_.size() && IsHeard(shapes_[place])
             ? shapes_[place].model
             : all_;
}

ServiceTimes::Shape& ServiceTimes::PlaceOf(uint64_t shape_key) {
  const size_t own = Find(shape_key);
  if (own < shapes_.size()) {
    return shapes_[own];
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
