// What producers are told of the queue and of the times that batches take.
#include <algorithm>
#include <array>
#include <cmath>

#include "batcher/batch_former.h"

namespace ferry {

Duration BatchFormer::PressingTime(const Knobs& knobs) const {
  Duration longest = times_.all().Bound(knobs.max_batch_size);
  times_.VisitShapes([&](const ServiceTimes::Shape& shape) {
    longest = std::max(longest, shape.model.Bound(knobs.max_batch_size));
  });
  return longest + kMargin + kLateWakeUp;
}

int32_t BatchFormer::FullRows(const Knobs& knobs) const {
  const int64_t requests = Limits(knobs).requests;
  int64_t rows = requests;  // of one row each
  if (queue_.requests() > 0) {
    rows = requests * queue_.rows() / queue_.requests();
  }
  return static_cast<int32_t>(
      std::clamp<int64_t>(rows, 1, knobs.max_batch_size));
}

// As what is queued has its shapes; where nothing is, of all.
Duration BatchFormer::FullBatch(int32_t full_rows) const {
  double sum_ns = 0;
  for (const ShapeGroup* group : queue_.groups()) {
    sum_ns += group->rows() *
              static_cast<double>(TimesOf(*group).Expected(full_rows).count());
  }
  return queue_.empty() ? times_.all().Expected(full_rows)
                        : Duration(std::llround(sum_ns / queue_.rows()));
}

std::array<Duration, kMaxLevels> BatchFormer::Fragments(int32_t full_rows,
                                                        Duration full_batch) {
  std::array<Duration, kMaxLevels> sums{};
  if (queue_.groups().size() < 2) {
    return sums;  // the one there is may yet be filled
  }
  std::array<Duration, kMaxLevels> largest{};
  std::array<int64_t, kMaxLevels> rows_in_all{};
  const auto levels = static_cast<size_t>(options_.levels);
  for (const ShapeGroup* group : queue_.groups()) {
    const ServiceTimeModel& times = TimesOf(*group);
    const auto own = std::find_if(
        shape_times_.begin(), shape_times_.end(), [&](const auto& shape) {
          return shape.shape_key == group->any().shape_key;
        });
    int32_t rows = 0;
    for (size_t level = 0; level < levels; ++level) {
      rows += group->levels()[level].rows;
      rows_in_all[level] += rows;
      sums[level] += rows / full_rows * times.Expected(full_rows);
      if (rows % full_rows > 0) {
        const Duration last = times.Expected(rows % full_rows);
        sums[level] += last;
        largest[level] = std::max(largest[level], last);
        if (own != shape_times_.end()) {
          own->last[level] = last;
        }
      }
    }
  }
  for (size_t level = 0; level < levels; ++level) {
    // One of the last batches is the request's own: where each shape has its
    // times, ShapeTimes::last.
    if (!times_.shapes_differ()) {
      sums[level] -= largest[level];
    }
    sums[level] -= rows_in_all[level] / full_rows * full_batch;
  }
  return sums;
}

void BatchFormer::ListShapes(int32_t full_rows) {
  shape_times_.clear();
  times_.VisitShapes([&](const ServiceTimes::Shape& shape) {
    shape_times_.push_back(
        {.shape_key = shape.key,
         .own = OwnTimes(shape.model, full_rows),
         .believed_until = BelievedUntil(shape.model, shape.tried_at)});
  });
}

WaitForecast::Facts BatchFormer::FactsForProducers(const Knobs& knobs,
                                                   TimePoint now) {
  const int32_t full = FullRows(knobs);
  const Duration full_batch = FullBatch(full);
  ListShapes(full);
  WaitForecast::Facts facts{.lanes = options_.lanes,
                            .idle_lanes = lanes_.idle_lanes(),
                            .batch_waits = lanes_.batch_waits(),
                            .full_rows = full,
                            .full_batch = full_batch,
                            .own = OwnTimes(times_.all(), full),
                            .shapes = shape_times_,
                            .shapes_differ = times_.shapes_differ(),
                            .lane_free_at = lanes_.FreeAt(now),
                            .believed_until = BelievedUntil(),
                            .fastest = fastest_};
  const std::array<Duration, kMaxLevels> fragments =
      Fragments(full, full_batch);
  for (int32_t i = 0; i < options_.levels; ++i) {
    facts.levels[static_cast<size_t>(i)] = {
        .taken_by_others = shares_.TakenByOthers(i),
        .fragments = fragments[static_cast<size_t>(i)],
        .stretch = stretches_[static_cast<size_t>(i)].Settle(),
        .delayed_rows = queue_.delayed_rows(i)};
  }
  return facts;
}

}  // namespace ferry
