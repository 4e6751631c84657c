// Batches ahead, in turns of the lanes, then the own one.
#include "batcher/wait_forecast.h"

#include <algorithm>
#include <cmath>

namespace ferry {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr double kMinShare = 0.01;
constexpr double kMostCare = 0.25;  // of the time to spare

double Nanos(Duration duration) {
  return static_cast<double>(duration.count());
}

}  // namespace

void WaitForecast::Publish(const Facts& facts, int32_t levels) {
  lanes_.store(facts.lanes, kRelaxed);
  idle_lanes_.store(facts.idle_lanes, kRelaxed);
  batch_waits_.store(facts.batch_waits, kRelaxed);
  full_rows_.store(facts.full_rows, kRelaxed);
  full_batch_ns_.store(Nanos(facts.full_batch), kRelaxed);
  Store(facts.own, own_);
  for (size_t i = 0; i < facts.shapes.size(); ++i) {
    shapes_[i].key.store(facts.shapes[i].shape_key, kRelaxed);
    shapes_[i].believed_until_ns.store(ToNanos(facts.shapes[i].believed_until),
                                       kRelaxed);
    Store(facts.shapes[i].own, shapes_[i].own);
    for (size_t level = 0; level < static_cast<size_t>(levels); ++level) {
      shapes_[i].last_ns[level].store(Nanos(facts.shapes[i].last[level]),
                                      kRelaxed);
    }
  }
  shape_count_.store(facts.shapes.size(), kRelaxed);
  shapes_differ_.store(facts.shapes_differ, kRelaxed);
  lane_free_at_ns_.store(ToNanos(facts.lane_free_at), kRelaxed);
  believed_until_ns_.store(ToNanos(facts.believed_until), kRelaxed);
  fastest_ns_.store(facts.fastest.count(), kRelaxed);
  for (size_t i = 0; i < static_cast<size_t>(levels); ++i) {
    const Facts::Level& level = facts.levels[i];
    levels_[i].share.store(std::max(1 - level.taken_by_others, kMinShare),
                           kRelaxed);
    levels_[i].fragments_ns.store(Nanos(level.fragments), kRelaxed);
    levels_[i].stretch.store(level.stretch, kRelaxed);
    levels_[i].delayed_rows.store(level.delayed_rows, kRelaxed);
  }
}

void WaitForecast::Store(const OwnTimes& own, Times& times) {
  times.one_row_ns.store(Nanos(own.one_row), kRelaxed);
  times.full_ns.store(Nanos(own.full), kRelaxed);
  times.one_row_care_ns.store(Nanos(own.one_row_care), kRelaxed);
  times.full_care_ns.store(Nanos(own.full_care), kRelaxed);
}

const WaitForecast::Shape* WaitForecast::Find(uint64_t shape_key) const {
  const size_t count = shape_count_.load(kRelaxed);
  for (size_t i = 0; i < count; ++i) {
    if (shapes_[i].key.load(kRelaxed) == shape_key) {
      return &shapes_[i];
    }
  }
  return nullptr;
}

bool WaitForecast::IsBelieved(TimePoint now) const {
  return now <= FromNanos(believed_until_ns_.load(kRelaxed));
}

bool WaitForecast::IsTrial(uint64_t shape_key, TimePoint now) {
  bool is_believed = IsBelieved(now);
  if (is_believed && shapes_differ_.load(kRelaxed)) {
    const Shape* const shape = Find(shape_key);
    is_believed = shape != nullptr &&
                  now <= FromNanos(shape->believed_until_ns.load(kRelaxed));
  }
  std::atomic<uint32_t>& doubted = doubted_[shape_key % kTrial];
  if (is_believed || (doubted.fetch_add(1, kRelaxed) + 1) % kTrial != 0) {
    return false;
  }
  int64_t from_ns = next_trial_ns_.load(kRelaxed);
  const auto batches =
      Duration(std::llround(8 * full_batch_ns_.load(kRelaxed)));
  return ToNanos(now) >= from_ns &&
         next_trial_ns_.compare_exchange_strong(
             from_ns, ToNanos(now + kTrust + batches), kRelaxed);
}

TimePoint WaitForecast::FinishOf(int32_t level, const Ahead& ahead,
                                 const Own& own, TimePoint now) const {
  if (!IsBelieved(now)) {
    return now + Duration(fastest_ns_.load(kRelaxed));
  }
  const Level& its = levels_[static_cast<size_t>(level)];
  const Shape* const shape = Find(own.shape_key);
  const Times& times = shape != nullptr ? shape->own : own_;
  const double last_ns =
      shape != nullptr
          ? shape->last_ns[static_cast<size_t>(level)].load(kRelaxed)
          : 0;
  const int64_t full_rows = full_rows_.load(kRelaxed);
  const double full_ns = full_batch_ns_.load(kRelaxed);
  const double lanes = lanes_.load(kRelaxed);
  const int64_t batches = (ahead.rows_up_to_level + own.rows - 1) / full_rows;
  const int64_t own_batches = ahead.rows_of_level / full_rows;
  // Those that find an idle lane are not waited for.
  const bool lane_is_free =
      ahead.lane_has_ended && !batch_waits_.load(kRelaxed);
  const int32_t idle_lanes =
      idle_lanes_.load(kRelaxed) + (lane_is_free ? 1 : 0);
  const auto in_turns = [&](int64_t count) {
    return idle_lanes == 0
               ? static_cast<double>(count)
               : std::max(static_cast<double>(count - idle_lanes + 1), 0.0);
  };
  // Of the time, the level has only its share: who is more urgent may yet come.
  const double wait_ns =
      std::max(in_turns(batches) * full_ns +
                   std::max(0.0, its.fragments_ns.load(kRelaxed) - last_ns),
               in_turns(own_batches) * full_ns / its.share.load(kRelaxed)) /
      lanes * (1 + its.stretch.load(kRelaxed));
  // Behind a full batch there is one more by the time its turn comes.
  const double fill =
      batches > 0 || full_rows == 1
          ? 1
          : std::min(1.0, static_cast<double>(ahead.rows_up_to_level +
                                              own.rows - 1) /
                              static_cast<double>(full_rows - 1));
  const auto between = [fill](const std::atomic<double>& one_row,
                              const std::atomic<double>& full) {
    const double least = one_row.load(kRelaxed);
    return least + fill * (full.load(kRelaxed) - least);
  };
  const double own_ns = between(times.one_row_ns, times.full_ns);
  const double spare_ns = Nanos(own.due - now) - own_ns;
  const double care_ns =
      std::min(between(times.one_row_care_ns, times.full_care_ns),
               std::max(0.0, spare_ns * kMostCare));
  const TimePoint begin =
      lane_is_free ? now
                   : std::max(now, FromNanos(lane_free_at_ns_.load(kRelaxed)));
  return begin + Duration(std::llround(wait_ns + own_ns + care_ns));
}

}  // namespace ferry
