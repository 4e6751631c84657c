// The place of a shape: its own, a free one, or that of the one not seen for
// the longest.
#include "batcher/service_times.h"

#include <algorithm>

namespace ferry {

ServiceTimes::ServiceTimes(int32_t max_rows,
                           const std::vector<int32_t>& buckets)
    : all_(max_rows, buckets), shapes_(kMaxShapes, Shape{.model = all_}) {}

void ServiceTimes::Learn(const ServiceTimeSample& sample, uint64_t shape_key) {
  if (shape_key != 0) {
    Shape& shape = PlaceOf(shape_key);
    shape.last_learned = ++learned_;
    if (++shape.batches == 2) {
      shape.model.StartFrom(all_, sample);
    }
    if (shape.batches > 1) {
      shape.model.Learn(sample);
    }
  }
  all_.Learn(sample);
}

const ServiceTimeModel& ServiceTimes::Of(uint64_t shape_key) const {
  if (shape_key != 0 && known_ > 1) {
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
  Shape& place = *std::min_element(shapes_.begin(), shapes_.end(),
                                   [](const Shape& a, const Shape& b) {
                                     return a.last_learned < b.last_learned;
                                   });
  known_ += place.key == 0 ? 1 : 0;
  place.key = shape_key;
  place.batches = 0;
  return place;
}

}  // namespace ferry
