// BatchPlanner decides which requests leave together, when, and which can no
// longer be served in time: the scheduler's reasoning, without its threads.
//
// It holds the queue and learns the arrival rate and the service time. Choose()
// asks the policy for each group of one shape and returns the group that leaves
// or what to wait for. MakePlan() lists that group's batch once, sets aside
// what is cancelled or late, and cuts it to a cheaper bucket. Commit() moves
// the plan into the batch.
//
// Order: of the groups that may leave, the one with the most urgent request
// goes first, and among those the one that waits for the longest, delayed ones
// last. A level whose deficit is a whole batch (LevelShares) counts as the most
// urgent. After a batch that was not full a full one goes first, whatever its
// level: a trickle of urgent requests in a shape of their own would otherwise
// fill the device with small batches. Where order is preserved only the group
// of the oldest request may leave, and of it only what arrived before the
// oldest of any other group.
//
// Late: a request is dropped as late only if the expected batch time would miss
// its deadline. Admission uses a more pessimistic bound. Where batches are
// full, the heads that cannot wait for a full one are dropped (the sliding
// window of Shen et al., Nexus, 2019); where they are not, or where the others
// are less urgent, the batch leaves with fewer instead.
//
// Buckets: a batch that would be padded may leave with fewer rows, which fill a
// smaller bucket, and leave the others to the next batch. The time that a batch
// takes, divided by its rows, is the price of a row; the lower price wins if it
// is lower by more than the noise of s(b) and the larger size has run often
// enough.
//
// Thread safety: thread-compatible; the scheduler's mutex guards it.
#ifndef FERRY_BATCHER_INTERNAL_BATCH_PLANNER_H_
#define FERRY_BATCHER_INTERNAL_BATCH_PLANNER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "batcher/batch.h"
#include "batcher/batch_policy.h"
#include "batcher/infer_request.h"
#include "batcher/internal/admission.h"
#include "batcher/internal/arrival_rate.h"
#include "batcher/internal/level_shares.h"
#include "batcher/internal/request_queue.h"
#include "batcher/internal/wait_estimate.h"
#include "batcher/scheduler_options.h"
#include "batcher/service_time.h"

namespace ferry {

// What a batch holds at most.
struct BatchLimits {
  int32_t rows = 1;
  int32_t requests = 1;
  // A request that arrived after it does not join, unless it is the first.
  TimePoint newest = kNever;
};

// The requests of a group in the order in which they join a batch: levels from
// the most urgent down, each in the queue's order; before that each level takes
// its deficit (LevelShares), and one request where the deficit is full. One
// that was popped may be removed from its queue.
class JoinOrder {
 public:
  // `group` does not change meanwhile but by removals and delays of what was
  // popped.
  JoinOrder(const ShapeGroup& group, const LevelShares& shares);

  // Returns the next one, or null after the last.
  InferRequest* Peek() { return next_[static_cast<size_t>(level_)]; }
  void Pop();

 private:
  void FindLevel();

  const LevelShares& shares_;
  std::array<InferRequest*, kMaxLevels> next_{};  // [level]
  int32_t deficit_ = 0;                           // of level_, not yet taken
  bool takes_deficit_ = false;
  int32_t level_ = 0;
};

// The requests of one group that would leave together now, in that order. A
// request that does not fit closes the batch: no request behind it overtakes
// it.
class BatchPlan {
 public:
  // Never allocates while it holds at most `max_requests`.
  explicit BatchPlan(int32_t max_requests) {
    entries_.reserve(static_cast<size_t>(max_requests));
  }

  struct Entry {
    InferRequest* request;
    int32_t end_row;  // rows of the plan up to and with it
  };

  absl::Span<const Entry> entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  int32_t requests() const { return static_cast<int32_t>(entries_.size()); }
  int32_t rows() const { return empty() ? 0 : entries_.back().end_row; }

  // Whether `request` may join. The first always may: limits may have shrunk
  // since it was admitted.
  bool Fits(const InferRequest& request, const BatchLimits& limits) const {
    return empty() || (requests() < limits.requests &&
                       rows() + request.rows <= limits.rows &&
                       request.arrival <= limits.newest);
  }
  void Join(InferRequest& request) {
    entries_.push_back({&request, rows() + request.rows});
  }
  // Keeps the first requests only.
  void CutTo(int32_t requests) {
    entries_.resize(static_cast<size_t>(requests));
  }
  void Clear() { entries_.clear(); }

 private:
  std::vector<Entry> entries_;
};

class BatchPlanner {
 public:
  struct Options {
    int32_t max_batch_size = 1;  // of any runtime options
    int32_t max_requests_per_batch = 1;
    int32_t max_queued_requests = 1;
    int32_t levels = 1;
    int32_t instances = 1;
    bool preserve_ordering = false;  // another shape closes the batch
    int32_t enough_rows = 0;         // as in SchedulerOptions
    std::vector<int32_t> buckets = {};
  };

  // What takes time in a batch beside its compute: wake-ups, its replies. One
  // more of it is how late a timer may wake for a critical deadline.
  static constexpr Duration kMargin = std::chrono::microseconds(500);

  explicit BatchPlanner(const Options& options);

  const RequestQueue& queue() const { return queue_; }
  const ServiceTimes& service_times() const { return times_; }

  void SetOptions(const RuntimeOptions& options) { runtime_ = options; }
  const RuntimeOptions& options() const { return runtime_; }

  // --- what happened ---
  void Add(InferRequest& request);
  // REQUIRES: the request is queued.
  void Remove(InferRequest& request) { queue_.Remove(request); }
  void Delay(InferRequest& request) { queue_.Delay(request); }
  void Learn(const ServiceTimeSample& sample, uint64_t shape_key);

  // --- what to do ---
  struct Choice {
    const ShapeGroup* group = nullptr;  // its batch leaves now; null: none does
    CloseReason reason = CloseReason::kFull;
    Wait wait;  // what to wait for where none does
  };
  // `is_drained`: no further request will be admitted.
  Choice Choose(const InstanceState& instance, bool is_drained,
                TimePoint now) const;

  // Why a request does not leave with its batch.
  enum class Dropped : uint8_t { kCancelled, kLate };
  // Removes the request from the queue, or delays it.
  using OnDropped = absl::FunctionRef<void(InferRequest&, Dropped)>;

  // Makes the plan of a group's batch, which would begin to compute at `begin`.
  // Returns false where requests were dropped: then another group may be next.
  bool MakePlan(const ShapeGroup& group, TimePoint begin, TimePoint now,
                OnDropped on_dropped);

  // Moves the plan from the queue to `batch`. Returns how long it is expected
  // to take. REQUIRES: MakePlan() returned true.
  Duration Commit(Batch& batch, TimePoint now);

  // How long before it is due a request may be critical: a batch that waits for
  // company has to leave for it. 0 where the policy does not look ahead.
  Duration CriticalTime() const;

  // Publishes what producers need to know. `queue` has the instances' part.
  void Publish(WaitEstimate::Queue queue, WaitEstimate& to) const;

 private:
  BatchLimits Limits() const {
    return {.rows = runtime_.max_batch_size,
            .requests = std::min(runtime_.max_batch_size,
                                 options_.max_requests_per_batch)};
  }
  BatchLimits LimitsOf(const ShapeGroup& group) const;
  const ShapeGroup* OldestGroup() const;
  bool IsFull(const ShapeGroup& group) const {
    const BatchLimits limits = Limits();
    return group.rows() >= limits.rows || group.requests() >= limits.requests;
  }
  TimePoint ValidUntil(const ServiceTimeModel& times, TimePoint tried_at) const;
  // The group with the least goes first: whether it yields to a full one, its
  // level, whether it is delayed, its arrival.
  using Rank = std::tuple<bool, int32_t, bool, TimePoint>;
  Rank RankOf(const ShapeGroup& group) const;
  int32_t LeadingLevel(const ShapeGroup& group) const;
  // `is_early`: the instance that asks still computes.
  QueueState StateOf(const ShapeGroup& group, bool is_early,
                     bool is_drained) const;
  Forecast ForecastAt(TimePoint now) const;
  TimePoint LatestStart(const ShapeGroup& group, int32_t rows) const;
  // s(b) of the group's shape.
  const ServiceTimeModel& TimesOf(const ShapeGroup& group) const {
    return times_.Of(group.any().shape_key);
  }
  // Lists the batch. Returns false where requests were dropped.
  bool ListPlan(const ShapeGroup& group, TimePoint begin, TimePoint now,
                OnDropped on_dropped);
  // Cuts the plan to the requests whose rows cost least each.
  void CutToCheapest(const ShapeGroup& group, TimePoint begin);
  // Whether a request of the group that is left behind by a batch of `rows` and
  // due then may be late.
  bool IsCriticalBehind(const ShapeGroup& group, TimePoint due, int32_t rows,
                        TimePoint begin) const;
  void CountShares(const Batch& batch, Duration time);

  int32_t FullRows() const;
  Duration FullBatch(int32_t full_rows) const;
  Duration PartialBatches(int32_t full_rows) const;
  static WaitEstimate::OwnBatch OwnBatch(const ServiceTimeModel& times,
                                         int32_t full_rows);

  const Options options_;
  RuntimeOptions runtime_;
  RequestQueue queue_;
  LevelShares shares_;
  ServiceTimes times_;
  ArrivalRate arrivals_;
  BatchPlan plan_;
  bool plan_is_full_ = false;
  bool last_was_full_ = true;
  int64_t cut_count_ = 0;  // batches that were worth a cut to a bucket
  Duration fastest_{0};    // batch there ever was; 0: none yet
  TimePoint tried_at_ = TimePoint::min();
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_BATCH_PLANNER_H_
