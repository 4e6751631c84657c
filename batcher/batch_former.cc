// The order of groups, and the facts for the policy. Those for producers:
// batch_former_facts.cc.
#include "batcher/batch_former.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ferry {
namespace {

constexpr int32_t kOwedABatch = -1;  // more urgent than level 0
constexpr int kStagingWeight = 16;   // of the average, against one more batch
// The price of a row in the smaller bucket, of that in the whole batch.
constexpr double kWorthParting = 0.95;
constexpr int64_t kPartingsATrial = 32;

// Rows are those of the group; the thread waits for rows of the whole queue.
int32_t OfWholeQueue(int32_t wake_at_rows, const ShapeGroup& group,
                     const RequestQueue& queue) {
  return wake_at_rows == Wait::kNoRows
             ? wake_at_rows
             : wake_at_rows - group.rows() + queue.rows();
}

}  // namespace

BatchFormer::BatchFormer(const Options& options)
    : options_(options),
      queue_(options.max_queued_requests, options.levels),
      shares_(options.levels),
      lanes_(options.lanes, options.max_batches),
      times_(options.max_batch_size, options.buckets) {
  shape_times_.reserve(ServiceTimes::kMaxShapes);
}

void BatchFormer::Append(InferRequest& request) {
  queue_.Append(request);
  arrivals_.Add(request.arrival, request.rows);
}

void BatchFormer::Started(const Batch& batch, const Knobs& knobs, bool is_full,
                          TimePoint now) {
  const Duration time = times_.Of(batch.shape_key()).Expected(batch.rows());
  lanes_.Started(batch, now, time);
  tried_at_ = now;
  times_.Tried(batch.shape_key(), now);
  last_was_full_ = is_full;
  if (options_.levels == 1) {
    return;
  }
  std::array<int32_t, kMaxLevels> rows_of{};
  for (const Batch::Entry& entry : batch.entries()) {
    rows_of[static_cast<size_t>(entry.request->level)] += entry.rows;
  }
  int32_t urgent_rows = 0;
  for (int32_t level = 0; level < options_.levels; ++level) {
    const int32_t own_rows = rows_of[static_cast<size_t>(level)];
    shares_.Count(level,
                  {.time = time,
                   .max_rows = std::max(knobs.max_batch_size, batch.rows()),
                   .urgent_rows = urgent_rows,
                   .own_rows = own_rows,
                   .other_rows = batch.rows() - urgent_rows - own_rows,
                   .waits = queue_.level_rows(level) > 0});
    urgent_rows += own_rows;
  }
}

void BatchFormer::Learn(const ServiceTimeSample& sample, uint64_t shape_key) {
  times_.Learn(sample, shape_key);
  if (fastest_ == Duration(0) || sample.took < fastest_) {
    fastest_ = sample.took;
  }
}

void BatchFormer::LearnStaging(Duration took) {
  staging_ += (took - staging_) / kStagingWeight;
}

void BatchFormer::Answered(const Batch& batch) {
  for (const Batch::Entry& entry : batch.entries()) {
    if (entry.due != kNever && !entry.is_trial) {
      stretches_[static_cast<size_t>(entry.level)].CountAnswered(
          entry.arrival, entry.due, batch.times().delivered);
    }
  }
}

BatchFormer::Choice BatchFormer::Choose(const Knobs& knobs, int32_t free_slots,
                                        bool is_drained, TimePoint now) const {
  const BatchPolicy& policy = GetPolicy(knobs.policy);
  const LaneState lanes = Lanes(free_slots, now);
  Choice choice;
  choice.waits_for_slot = lanes.free_slots == 0 || lanes.takes_only_full;
  if (queue_.empty() || lanes.free_slots == 0 ||
      (now < lanes.close_at && !lanes.takes_only_full)) {
    // No policy closes a batch then, whatever is queued.
    const BatchLimits limits = Limits(knobs);
    choice.wait = std::get<Wait>(
        policy.Decide({.rows = queue_.rows(),
                       .full_at_rows = std::min(limits.rows, limits.requests)},
                      lanes, {}, now));
    return choice;
  }
  choice.can_be_pressed = policy.looks_ahead() && !lanes.takes_only_full;
  const Forecast forecast = policy.looks_ahead() ? ForecastAt(now) : Forecast{};
  Rank least;  // of the choice
  Rank first = {true, kMaxLevels, true, kNever};
  const ShapeGroup* const only =
      options_.preserve_ordering ? OldestGroup() : nullptr;
  for (const ShapeGroup* group : queue_.groups()) {
    if (only != nullptr && group != only) {
      continue;
    }
    const BatchPlan plan = PlanBatch(*group, shares_, LimitsOf(*group, knobs));
    const Rank rank = RankOf(*group, plan, knobs);
    first = std::min(first, rank);
    if (choice.group != nullptr && rank >= least) {
      continue;
    }
    const Decision decision = policy.Decide(
        State(*group, plan, knobs, lanes, is_drained), lanes, forecast, now);
    if (const auto* dispatch = std::get_if<Dispatch>(&decision)) {
      choice.group = group;
      choice.reason = dispatch->reason;
      least = rank;
    } else {
      const Wait& wait = std::get<Wait>(decision);
      choice.wait.until = std::min(choice.wait.until, wait.until);
      choice.wait.wake_at_rows =
          std::min(choice.wait.wake_at_rows,
                   OfWholeQueue(wait.wake_at_rows, *group, queue_));
      choice.ordered_shape = only != nullptr ? group->any().shape_key : 0;
    }
  }
  if (lanes.takes_only_full && least > first) {
    choice.group = nullptr;  // it would overtake who may yet grow
  }
  return choice;
}

BatchLimits BatchFormer::LimitsOf(const ShapeGroup& group,
                                  const Knobs& knobs) const {
  BatchLimits limits = Limits(knobs);
  if (options_.preserve_ordering) {
    for (const ShapeGroup* other : queue_.groups()) {
      if (other != &group) {
        limits.newest = std::min(limits.newest, other->any().arrival);
      }
    }
  }
  return limits;
}

const ShapeGroup* BatchFormer::OldestGroup() const {
  const auto oldest =
      std::min_element(queue_.groups().begin(), queue_.groups().end(),
                       [](const ShapeGroup* a, const ShapeGroup* b) {
                         return a->any().arrival < b->any().arrival;
                       });
  return oldest == queue_.groups().end() ? nullptr : *oldest;
}

BatchFormer::Rank BatchFormer::RankOf(const ShapeGroup& group,
                                      const BatchPlan& plan,
                                      const Knobs& knobs) const {
  const bool has_levels = options_.levels > 1;
  return {has_levels && !last_was_full_ && !plan.is_full,
          has_levels ? LeadingLevel(group, knobs) : 0, group.any().is_delayed,
          group.any().arrival};
}

int32_t BatchFormer::LeadingLevel(const ShapeGroup& group,
                                  const Knobs& knobs) const {
  for (int32_t level = 1; level < options_.levels; ++level) {
    if (shares_.Owed(level) >= FullRows(knobs) &&
        group.levels()[static_cast<size_t>(level)].oldest != nullptr) {
      return kOwedABatch;
    }
  }
  return group.most_urgent_level();
}

LaneState BatchFormer::Lanes(int32_t free_slots, TimePoint now) const {
  LaneState lanes{.free_slots = free_slots, .close_at = now};
  Duration ahead = staging_ + kHandOver;
  if (options_.starts_only_full_ahead &&
      free_slots <= options_.slots - options_.lanes) {
    lanes.takes_only_full = true;
    const Duration running = lanes_.longest();
    ahead += running / kShareAhead;
    // Among several levels the next to come may be the most urgent.
    if (running < kWorthAhead || options_.levels > 1) {
      lanes.free_slots = 0;
    }
  }
  if (lanes_.idle_lanes() == 0) {
    lanes.close_at = std::max(now, lanes_.FreeAt(now) - ahead);
  }
  return lanes;
}

Forecast BatchFormer::ForecastAt(TimePoint now) const {
  return {.rows_per_ns = arrivals_.RowsPerNano(now),
          .service = times_.all().line(),
          .lanes = options_.lanes,
          .buckets = options_.buckets};
}

QueueState BatchFormer::State(const ShapeGroup& group, const BatchPlan& plan,
                              const Knobs& knobs, const LaneState& lanes,
                              bool is_drained) const {
  const BatchLimits limits = Limits(knobs);
  QueueState state{.rows = plan.rows,
                   .oldest_arrival = group.oldest_arrival(),
                   .max_batch_size = limits.rows,
                   .max_wait = knobs.max_wait};
  // Each further request brings one row at least.
  state.full_at_rows =
      std::min(limits.rows, plan.rows + limits.requests - plan.requests);
  // Whoever arrives from now on stands behind the other shapes.
  const bool is_closed_by_others =
      options_.preserve_ordering && queue_.groups().size() > 1;
  // Beside a batch on the lane more may join.
  const int32_t enough = lanes.takes_only_full ? 0 : options_.enough_rows;
  if (enough > 0) {
    state.full_at_rows = std::min(state.full_at_rows, enough);
  }
  if (plan.is_full || is_closed_by_others ||
      (enough > 0 && plan.rows >= enough)) {
    state.growth = Growth::kFull;
  } else if (is_drained) {
    state.growth = Growth::kDrained;
  } else if (GetPolicy(knobs.policy).looks_ahead()) {
    state.latest_start = LatestStart(group, plan.rows, knobs);
  }
  return state;
}

TimePoint BatchFormer::LatestStart(const ShapeGroup& group, int32_t rows,
                                   const Knobs& knobs) const {
  const TimePoint due = group.earliest_due();
  if (due == kNever) {
    return kNever;
  }
  const int32_t one_more = std::min(rows + 1, knobs.max_batch_size);
  const ServiceTimeModel& times = TimesOf(group);
  return due - std::max(times.Bound(rows), times.Bound(one_more)) - kMargin -
         kLateWakeUp;
}

int32_t BatchFormer::Prune(const ShapeGroup& group, const Knobs& knobs,
                           TimePoint now, OnDropped on_dropped) const {
  const BatchLimits limits = LimitsOf(group, knobs);
  const ServiceTimeModel& times = TimesOf(group);
  const bool is_believed = now <= BelievedUntil();
  const TimePoint begin = lanes_.FreeAt(now) + kMargin;
  const auto end_with = [&](int32_t rows) {
    return is_believed
               ? begin + times.Expected(std::min(rows, options_.max_batch_size))
               : now;
  };
  for (;;) {
    const bool is_full = PlanBatch(group, shares_, limits).is_full;
    BatchPlan plan;
    InferRequest* first_due = nullptr;  // of the plan
    JoinOrder order(group, shares_);
    for (;;) {
      InferRequest* const next = order.Peek();
      if (next == nullptr || !plan.Fits(*next, limits)) {
        return limits.rows;
      }
      order.Pop();
      const TimePoint end = end_with(plan.rows + next->rows);
      const bool is_cancelled =
          next->cancelled.load(std::memory_order_seq_cst) || next->IsOfNoUse();
      const bool is_late = next->due < (next->is_trial ? now : end);
      if (is_cancelled || is_late) {  // with those before it alone
        on_dropped(*next, is_cancelled ? Dropped::kCancelled : Dropped::kLate);
        continue;
      }
      if (first_due != nullptr && first_due->due < end) {
        if (!is_full || first_due->level < next->level || next->is_trial) {
          return plan.rows;
        }
        break;  // it would hold back a full batch
      }
      if (!next->is_trial &&
          (first_due == nullptr || next->due < first_due->due)) {
        first_due = next;
      }
      plan.Join(*next);
    }
    on_dropped(*first_due, Dropped::kLate);
  }
}

int32_t BatchFormer::CheapestRows(const ShapeGroup& group, const Knobs& knobs,
                                  int32_t max_rows, TimePoint now) {
  if (options_.buckets.empty()) {
    return max_rows;
  }
  const ServiceTimeModel& times = TimesOf(group);
  BatchLimits limits = LimitsOf(group, knobs);
  limits.rows = std::min(limits.rows, max_rows);
  BatchPlan plan;
  int32_t cheapest = 0;
  double least_price = std::numeric_limits<double>::infinity();
  double price = 0;
  TimePoint left_behind_due = kNever;  // the first of those after `cheapest`
  JoinOrder order(group, shares_);
  for (const InferRequest* next = order.Peek();
       next != nullptr && plan.Fits(*next, limits); next = order.Peek()) {
    plan.Join(*next);
    price = static_cast<double>(times.Expected(plan.rows).count()) / plan.rows;
    left_behind_due = std::min(left_behind_due, next->due);
    if (price <= least_price) {
      least_price = price;
      cheapest = plan.rows;
      left_behind_due = kNever;
    }
    order.Pop();
  }
  const bool is_padded = times.RowsThatRun(plan.rows) != plan.rows;
  if (!is_padded || !times.IsKnown(plan.rows) ||
      least_price >= kWorthParting * price ||
      IsPressed(group, left_behind_due, cheapest, knobs, now)) {
    return max_rows;
  }
  // Now and then it is tried whether the larger size has become faster.
  return ++parting_count_ % kPartingsATrial == 0 ? max_rows : cheapest;
}

bool BatchFormer::IsPressed(const ShapeGroup& group, TimePoint due,
                            int32_t rows, const Knobs& knobs,
                            TimePoint now) const {
  if (due == kNever) {
    return false;
  }
  // Where others may go first, it is not known when its turn comes. Else the
  // next batch is its own, and may be full by then.
  return options_.levels > 1 || queue_.groups().size() > 1 ||
         due < lanes_.FreeAt(now) + TimesOf(group).Bound(rows) + kMargin +
                   TimesOf(group).Bound(knobs.max_batch_size);
}

bool BatchFormer::TakeBatch(const ShapeGroup& group, const Knobs& knobs,
                            int32_t max_rows, Batch& batch) {
  BatchLimits limits = LimitsOf(group, knobs);
  const bool is_cut = max_rows < limits.rows;
  limits.rows = std::min(limits.rows, max_rows);
  BatchPlan plan;
  JoinOrder order(group, shares_);
  while (InferRequest* const request = order.Peek()) {
    if (!plan.Fits(*request, limits)) {
      return !is_cut;
    }
    order.Pop();
    plan.Join(*request);
    queue_.Remove(*request);
    batch.Add(*request);
  }
  return plan.rows >= limits.rows || plan.requests >= limits.requests;
}

}  // namespace ferry
