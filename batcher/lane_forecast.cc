// A list of expected ends, and what waits behind them.
#include "batcher/lane_forecast.h"

#include <algorithm>

#include "batcher/check.h"

namespace ferry {
namespace {

void InsertSorted(std::vector<TimePoint>& ends, TimePoint end) {
  ends.insert(std::upper_bound(ends.begin(), ends.end(), end), end);
}

}  // namespace

LaneForecast::LaneForecast(int32_t lanes, int32_t max_batches)
    : lanes_(static_cast<size_t>(lanes)) {
  ends_.reserve(lanes_);
  scratch_.reserve(lanes_);
  waiting_.reserve(static_cast<size_t>(max_batches));
}

void LaneForecast::Started(TimePoint now, Duration expected) {
  if (ends_.size() < lanes_) {
    InsertSorted(ends_, now + expected);
  } else {
    waiting_.push_back(expected);
  }
}

void LaneForecast::Ended(TimePoint now) {
  Check(!ends_.empty(), "what ends was started");
  ends_.erase(ends_.begin());
  if (!waiting_.empty()) {
    InsertSorted(ends_, now + waiting_.front());
    waiting_.erase(waiting_.begin());
  }
}

int32_t LaneForecast::idle_lanes() const {
  return static_cast<int32_t>(lanes_ - ends_.size());
}

TimePoint LaneForecast::FreeAt(TimePoint now) const {
  if (ends_.size() < lanes_) {
    return now;
  }
  if (waiting_.empty()) {
    return std::max(now, ends_.front());
  }
  scratch_ = ends_;
  for (Duration expected : waiting_) {
    const TimePoint begin = std::max(now, scratch_.front());
    scratch_.erase(scratch_.begin());
    InsertSorted(scratch_, begin + expected);
  }
  return std::max(now, scratch_.front());
}

}  // namespace ferry
