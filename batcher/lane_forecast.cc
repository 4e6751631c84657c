// A list of what is under way, with expected ends.
#include "batcher/lane_forecast.h"

#include <algorithm>

namespace ferry {

LaneForecast::LaneForecast(int32_t lanes, int32_t max_batches) : lanes_(lanes) {
  under_way_.reserve(static_cast<size_t>(max_batches));
  ends_.reserve(static_cast<size_t>(max_batches));
}

int32_t LaneForecast::on_lanes() const {
  return std::min(lanes_, static_cast<int32_t>(under_way_.size()));
}

int32_t LaneForecast::idle_lanes() const { return lanes_ - on_lanes(); }

void LaneForecast::Started(const Batch& batch, TimePoint now,
                           Duration expected) {
  const bool has_lane = idle_lanes() > 0;
  under_way_.push_back({&batch, expected, has_lane ? now + expected : kNever});
}

void LaneForecast::Ended(const Batch& batch, TimePoint end) {
  const auto ended =
      std::find_if(under_way_.begin(), under_way_.end(),
                   [&](const UnderWay& each) { return each.batch == &batch; });
  if (ended == under_way_.end()) {
    return;
  }
  under_way_.erase(ended);
  for (UnderWay& each : under_way_) {
    if (each.end == kNever) {  // the first that waits has the lane now
      each.end = end + each.expected;
      return;
    }
  }
}

Duration LaneForecast::longest() const {
  Duration longest{0};
  for (const UnderWay& each : under_way_) {
    longest = std::max(longest, each.expected);
  }
  return longest;
}

TimePoint LaneForecast::FreeAt(TimePoint now) const {
  if (idle_lanes() > 0) {
    return now;
  }
  const auto first_free = [this] {
    return std::min_element(ends_.begin(), ends_.end());
  };
  ends_.clear();
  for (const UnderWay& each : under_way_) {
    if (each.end != kNever) {
      ends_.push_back(std::max(now, each.end));
    } else {
      *first_free() += each.expected;
    }
  }
  return *first_free();
}

}  // namespace ferry
