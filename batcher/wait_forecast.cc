// Batches ahead, in turns of the lanes, then the own one.
#include "batcher/wait_forecast.h"

#include <algorithm>
#include <cmath>

namespace ferry {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr double kMinShare = 0.01;

}  // namespace

void WaitForecast::Publish(const Facts& facts) {
  max_batch_size_.store(facts.max_batch_size, kRelaxed);
  lanes_.store(facts.lanes, kRelaxed);
  open_batches_.store(facts.open_batches, kRelaxed);
  full_batch_ns_.store(facts.full_batch.count(), kRelaxed);
  base_ns_.store(facts.own_batch_base.count(), kRelaxed);
  per_row_ns_.store(facts.own_batch_per_row.count(), kRelaxed);
  lane_free_at_ns_.store(ToNanos(facts.lane_free_at), kRelaxed);
  believed_until_ns_.store(ToNanos(facts.believed_until), kRelaxed);
  for (size_t level = 0; level < facts.taken_by_others.size(); ++level) {
    taken_by_others_[level].store(facts.taken_by_others[level], kRelaxed);
  }
}

TimePoint WaitForecast::FinishOf(int32_t level, const Ahead& ahead,
                                 int32_t rows, TimePoint now) const {
  if (now > FromNanos(believed_until_ns_.load(kRelaxed))) {
    return now;
  }
  const int64_t max_rows = max_batch_size_.load(kRelaxed);
  const int32_t lanes = lanes_.load(kRelaxed);
  int64_t batches_ahead = (ahead.rows_up_to_level + rows - 1) / max_rows;
  // Each other shape may put one batch that is not full before it.
  batches_ahead += std::max(open_batches_.load(kRelaxed) - 1, 0);
  // Behind a full batch there is one more by the time its turn comes.
  const int64_t own_rows =
      batches_ahead > 0 ? max_rows
                        : std::min(ahead.rows_up_to_level + rows, max_rows);
  // Of the time, the level has only its share: who is more urgent may yet come.
  const double share =
      1 - taken_by_others_[static_cast<size_t>(level)].load(kRelaxed);
  const double turns =
      std::max(static_cast<double>(batches_ahead / lanes),
               static_cast<double>(ahead.rows_of_level / max_rows / lanes) /
                   std::max(share, kMinShare));
  const TimePoint begin =
      std::max(now, FromNanos(lane_free_at_ns_.load(kRelaxed)));
  return begin +
         Duration(std::llround(
             turns * static_cast<double>(full_batch_ns_.load(kRelaxed)))) +
         Duration(base_ns_.load(kRelaxed) +
                  own_rows * per_row_ns_.load(kRelaxed));
}

}  // namespace ferry
