// BatchFormer: which requests leave together, when, and which can no longer be
// served in time. The reasoning of the stepper, without its wake-ups and
// its answers.
//
// It holds the queue, learns the arrival rate and the service time, and keeps
// an account of the lanes; from these it gives the policy its facts.
//
// Order: of the groups that may leave, the one with the most urgent request,
// and of those the one that waits for the longest, delayed ones last. A level
// that is owed a whole batch (LevelShares) counts as the most urgent. After a
// batch that was not full a full one goes first, whatever its level: a trickle
// of urgent requests in a shape of their own would otherwise fill the device
// with small batches.
//
// Where order is preserved only the group of the oldest request may leave, and
// of it only what arrived before any other's oldest.
//
// Late: who would be answered after they are due, by the expected time of the
// batch: the door allowed for more, and who may yet be in time is not given up.
// Where batches are full, the heads that cannot wait for a full one are dropped
// (the sliding window of Shen et al., Nexus, 2019); where they are not, or
// where the others are less urgent, the batch leaves with fewer instead.
//
// Buckets: a batch that would be padded may leave with fewer, which fill a
// smaller bucket, and leave the others to the next batch. The time that a batch
// takes, by its rows, is the price of a row; the lower price wins, if it is
// lower by more than the noise of s(b) and the larger size has run often
// enough.
//
// Thread safety: thread-compatible; the stepper's.
#ifndef FERRY_BATCHER_BATCH_FORMER_H_
#define FERRY_BATCHER_BATCH_FORMER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "batcher/arrival_rate.h"
#include "batcher/batch.h"
#include "batcher/batch_plan.h"
#include "batcher/batch_policy.h"
#include "batcher/knobs.h"
#include "batcher/lane_forecast.h"
#include "batcher/level_shares.h"
#include "batcher/request_queue.h"
#include "batcher/service_times.h"
#include "batcher/wait_forecast.h"
#include "batcher/wait_stretch.h"

namespace ferry {

class BatchFormer {
 public:
  struct Options {
    int32_t max_batch_size = 1;  // of any knobs
    int32_t max_requests_per_batch = 1;
    int32_t max_queued_requests = 1;
    int32_t levels = 1;
    int32_t lanes = 1;
    int32_t slots = 1;
    bool starts_only_full_ahead = false;  // as the backend
    int32_t max_batches = 1;              // under way at once
    // Nobody overtakes: another shape closes the batch.
    bool preserve_ordering = false;
    int32_t enough_rows = 0;  // as in BatcherOptions
    std::vector<int32_t> buckets = {};
  };

  // What takes time in a batch beside its compute: wake-ups, its replies.
  static constexpr Duration kMargin = std::chrono::microseconds(500);
  // How late the batcher's thread may wake for a request that presses.
  static constexpr Duration kLateWakeUp = std::chrono::microseconds(500);
  // The way of a closed batch to a lane that is about to be free.
  static constexpr Duration kHandOver = std::chrono::microseconds(100);
  // Where only full batches leave before a lane is free, they do so beside
  // batches that are expected to take at least that, and that share of it
  // earlier: a full one loses nothing, and forecasts err.
  static constexpr Duration kWorthAhead = std::chrono::milliseconds(1);
  static constexpr int kShareAhead = 8;

  explicit BatchFormer(const Options& options);

  const Options& options() const { return options_; }
  const RequestQueue& queue() const { return queue_; }
  // Of all shapes.
  const ServiceTimeModel& service_time() const { return times_.all(); }

  // --- what happened ---
  void Append(InferRequest& request);
  // REQUIRES: request.is_queued.
  void Remove(InferRequest& request) { queue_.Remove(request); }
  void Delay(InferRequest& request) { queue_.Delay(request); }
  void Started(const Batch& batch, const Knobs& knobs, bool is_full,
               TimePoint now);
  void ComputeEnded(const Batch& batch) {
    lanes_.Ended(batch, batch.times().compute_end);
  }
  void Learn(const ServiceTimeSample& sample, uint64_t shape_key);
  void LearnStaging(Duration took);
  // The request expired or was dropped.
  void Missed(const InferRequest& request) {
    if (!request.is_trial) {  // of which that was expected
      stretches_[static_cast<size_t>(request.level)].CountMissed();
    }
  }
  // The batch's requests have their results.
  void Answered(const Batch& batch);

  // --- what to do ---
  // The group whose batch leaves now, or none and what to wait for.
  struct Choice {
    const ShapeGroup* group = nullptr;
    CloseReason reason = CloseReason::kFull;
    Wait wait;
    // Whether one more free slot could make a batch leave.
    bool waits_for_slot = false;
    // Whether a request that is due soon could make a batch leave.
    bool can_be_pressed = false;
    // With preserve_ordering, of the batch that waits: a request of another
    // shape closes it. 0: none waits.
    uint64_t ordered_shape = 0;
  };
  Choice Choose(const Knobs& knobs, int32_t free_slots, bool is_drained,
                TimePoint now) const;

  // Why a request does not leave with its batch.
  enum class Dropped : uint8_t { kCancelled, kLate };
  using OnDropped = absl::FunctionRef<void(InferRequest&, Dropped)>;

  // Hands those of the group's batch that are cancelled or too late to
  // `on_dropped`, which removes or delays them, and returns the most rows
  // with which the rest may leave.
  int32_t Prune(const ShapeGroup& group, const Knobs& knobs, TimePoint now,
                OnDropped on_dropped) const;

  // Returns the rows, `max_rows` at most, with which the group's batch is to
  // leave. Without buckets `max_rows`; with buckets those of the beginning of
  // the batch whose rows cost least each, if nobody left behind could be late.
  int32_t CheapestRows(const ShapeGroup& group, const Knobs& knobs,
                       int32_t max_rows, TimePoint now);

  // Moves the group's batch, of `max_rows` at most, from the queue to `batch`.
  // Returns whether it is full.
  bool TakeBatch(const ShapeGroup& group, const Knobs& knobs, int32_t max_rows,
                 Batch& batch);

  // How long before it is due a request may press a batch to leave.
  Duration PressingTime(const Knobs& knobs) const;

  WaitForecast::Facts FactsForProducers(const Knobs& knobs, TimePoint now);

 private:
  BatchLimits Limits(const Knobs& knobs) const {
    return {.rows = knobs.max_batch_size,
            .requests = std::min(knobs.max_batch_size,
                                 options_.max_requests_per_batch)};
  }
  BatchLimits LimitsOf(const ShapeGroup& group, const Knobs& knobs) const;
  const ShapeGroup* OldestGroup() const;
  // What nobody has tried lately is not believed.
  TimePoint BelievedUntil(const ServiceTimeModel& times,
                          TimePoint tried_at) const {
    const Duration full = times.Expected(options_.max_batch_size);
    return full == Duration(0) ? TimePoint::min()
                               : tried_at + WaitForecast::kTrust + 8 * full;
  }
  TimePoint BelievedUntil() const {
    return BelievedUntil(times_.all(), tried_at_);
  }
  // Who goes first has the least: whether it yields, its level, whether it is
  // delayed, its arrival.
  using Rank = std::tuple<bool, int32_t, bool, TimePoint>;
  Rank RankOf(const ShapeGroup& group, const BatchPlan& plan,
              const Knobs& knobs) const;
  int32_t LeadingLevel(const ShapeGroup& group, const Knobs& knobs) const;
  LaneState Lanes(int32_t free_slots, TimePoint now) const;
  Forecast ForecastAt(TimePoint now) const;
  QueueState State(const ShapeGroup& group, const BatchPlan& plan,
                   const Knobs& knobs, const LaneState& lanes,
                   bool is_drained) const;
  int32_t FullRows(const Knobs& knobs) const;
  // What batches of each level and more urgent ones take longer than full ones
  // of the same rows; [level]. Tells shape_times_ of each shape's last one.
  std::array<Duration, kMaxLevels> Fragments(int32_t full_rows,
                                             Duration full_batch);
  static WaitForecast::OwnTimes OwnTimes(const ServiceTimeModel& times,
                                         int32_t full_rows) {
    const Duration one_row = times.Expected(1);
    const Duration full = times.Expected(full_rows);
    return {.one_row = one_row + kMargin,
            .full = full + kMargin,
            .one_row_care = times.Bound(1) - one_row,
            .full_care = times.Bound(full_rows) - full};
  }
  // Into shape_times_.
  void ListShapes(int32_t full_rows);
  // Expected time of a full one.
  Duration FullBatch(int32_t full_rows) const;
  // s(b) of the group's shape.
  const ServiceTimeModel& TimesOf(const ShapeGroup& group) const {
    return times_.Of(group.any().shape_key);
  }
  // Whether someone of the group due then may be late in the batch after one of
  // `rows`.
  bool IsPressed(const ShapeGroup& group, TimePoint due, int32_t rows,
                 const Knobs& knobs, TimePoint now) const;
  TimePoint LatestStart(const ShapeGroup& group, int32_t rows,
                        const Knobs& knobs) const;

  const Options options_;
  RequestQueue queue_;
  LevelShares shares_;
  LaneForecast lanes_;
  std::array<WaitStretch, kMaxLevels> stretches_;
  ServiceTimes times_;
  std::vector<WaitForecast::ShapeTimes> shape_times_;  // for producers
  Duration fastest_{0};  // batch there ever was; 0: none yet
  TimePoint tried_at_ = TimePoint::min();
  Duration staging_{0};  // a moving average
  bool last_was_full_ = true;
  int64_t parting_count_ = 0;  // batches that were worth parting
  ArrivalRate arrivals_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_FORMER_H_
