// BatchFormer: which requests leave together, when, and which can no longer be
// served in time. The reasoning of the batcher thread, without its wake-ups and
// its answers.
//
// It holds the queue, learns the arrival rate and the service time, and keeps
// an account of the lanes; from these it gives the policy its facts.
//
// Order: of the groups that may leave, the one with the most urgent request,
// and of those the one that waits for the longest. A level that is owed a whole
// batch (LevelShares) counts as the most urgent. After a batch that was not
// full a full one goes first, whatever its level: a trickle of urgent requests
// in a shape of their own would otherwise fill the device with small batches.
//
// Thread safety: thread-compatible; the batcher thread's.
#ifndef FERRY_BATCHER_BATCH_FORMER_H_
#define FERRY_BATCHER_BATCH_FORMER_H_

#include <algorithm>
#include <cstdint>

#include "batcher/arrival_rate.h"
#include "batcher/batch.h"
#include "batcher/batch_plan.h"
#include "batcher/batch_policy.h"
#include "batcher/knobs.h"
#include "batcher/lane_forecast.h"
#include "batcher/level_shares.h"
#include "batcher/request_queue.h"
#include "batcher/service_time_model.h"
#include "batcher/wait_forecast.h"

namespace ferry {

class BatchFormer {
 public:
  struct Options {
    int32_t max_batch_size = 1;  // of any knobs
    int32_t max_requests_per_batch = 1;
    int32_t max_queued_requests = 1;
    int32_t levels = 1;
    int32_t lanes = 1;
    int32_t max_batches = 1;  // under way at once
  };

  // What takes time in a batch beside its compute: wake-ups, its replies.
  static constexpr Duration kMargin = std::chrono::microseconds(500);
  // The way of a closed batch to a lane that is about to be free.
  static constexpr Duration kHandOver = std::chrono::microseconds(100);

  explicit BatchFormer(const Options& options);

  const Options& options() const { return options_; }
  const RequestQueue& queue() const { return queue_; }
  const ServiceTimeModel& service_time() const { return service_time_; }

  // --- what happened ---
  void Append(InferRequest& request);
  // REQUIRES: request.is_queued.
  void Remove(InferRequest& request) { queue_.Remove(request); }
  void Started(const Batch& batch, bool is_full, TimePoint now);
  void ComputeEnded(TimePoint now) { lanes_.Ended(now); }
  void Learn(const ServiceTimeSample& sample, TimePoint now);
  void LearnStaging(Duration took);

  // --- what to do ---
  // The group whose batch leaves now, or none and what to wait for.
  struct Choice {
    const ShapeGroup* group = nullptr;
    CloseReason reason = CloseReason::kFull;
    Wait wait;
  };
  Choice Choose(const Knobs& knobs, int32_t free_slots, bool is_drained,
                TimePoint now) const;

  // Returns a request that would leave with the group's batch and be answered
  // after it is due, or null.
  InferRequest* FindLate(const ShapeGroup& group, const Knobs& knobs,
                         TimePoint now) const;

  // Moves the group's batch from the queue to `batch`; hands what was cancelled
  // to `on_cancelled`, which removes it from the queue. Returns whether the
  // batch is full.
  template <typename OnCancelled>
  bool TakeBatch(const ShapeGroup& group, const Knobs& knobs, Batch& batch,
                 OnCancelled&& on_cancelled);

  // How long before it is due a request may press a batch to leave.
  Duration PressingTime(const Knobs& knobs) const;

  WaitForecast::Facts FactsForProducers(const Knobs& knobs,
                                        TimePoint now) const;

 private:
  BatchLimits Limits(const Knobs& knobs) const {
    return {.rows = knobs.max_batch_size,
            .requests = std::min(knobs.max_batch_size,
                                 options_.max_requests_per_batch)};
  }
  TimePoint BelievedUntil() const {
    return learned_at_ + WaitForecast::kTrust +
           2 * service_time_.Expected(options_.max_batch_size);
  }
  int32_t LeadingLevel(const ShapeGroup& group) const;
  bool GoesBefore(const ShapeGroup& a, const ShapeGroup& b,
                  const Knobs& knobs) const;
  LaneState Lanes(int32_t free_slots, TimePoint now) const;
  Forecast ForecastAt(TimePoint now) const;
  QueueState State(const ShapeGroup& group, const Knobs& knobs,
                   bool is_drained) const;
  TimePoint LatestStart(const ShapeGroup& group, int32_t rows,
                        const Knobs& knobs) const;

  const Options options_;
  RequestQueue queue_;
  LevelShares shares_;
  LaneForecast lanes_;
  ServiceTimeModel service_time_;
  TimePoint learned_at_ = TimePoint::min();
  Duration staging_{0};  // a moving average
  bool last_was_full_ = true;
  ArrivalRate arrivals_;
};

template <typename OnCancelled>
bool BatchFormer::TakeBatch(const ShapeGroup& group, const Knobs& knobs,
                            Batch& batch, OnCancelled&& on_cancelled) {
  const BatchLimits limits = Limits(knobs);
  BatchPlan plan;
  JoinOrder order(group, shares_);
  while (InferRequest* const request = order.Peek()) {
    const bool is_cancelled =
        request->cancelled.load(std::memory_order_seq_cst);
    if (!is_cancelled && !plan.Fits(*request, limits)) {
      return true;
    }
    order.Pop();
    if (is_cancelled) {
      on_cancelled(*request);
      continue;
    }
    plan.Join(*request);
    queue_.Remove(*request);
    batch.Add(*request);
  }
  return plan.rows >= limits.rows || plan.requests >= limits.requests;
}

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_FORMER_H_
