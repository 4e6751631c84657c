// The order of groups, and the facts for policy and producers.
#include "batcher/batch_former.h"

#include <algorithm>
#include <cmath>

namespace ferry {
namespace {

constexpr int32_t kOwedABatch = -1;  // more urgent than level 0
constexpr int kStagingWeight = 16;   // of the average, against one more batch

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
      shares_(options.levels, options.max_batch_size),
      lanes_(options.lanes, options.max_batches),
      service_time_(options.max_batch_size) {}

void BatchFormer::Append(InferRequest& request) {
  queue_.Append(request);
  arrivals_.Add(request.arrival, request.rows);
}

void BatchFormer::Started(const Batch& batch, bool is_full, TimePoint now) {
  const Duration time = service_time_.Expected(batch.rows());
  lanes_.Started(now, time);
  for (int32_t level = 0; options_.levels > 1 && level < options_.levels;
       ++level) {
    int32_t rows = 0;
    for (const Batch::Entry& entry : batch.entries()) {
      rows += entry.request->level == level ? entry.rows : 0;
    }
    shares_.Started(level, time, batch.rows(), rows,
                    queue_.level_rows(level) > 0);
  }
  last_was_full_ = is_full;
}

void BatchFormer::Learn(const ServiceTimeSample& sample, TimePoint now) {
  service_time_.Learn(sample);
  learned_at_ = now;
}

void BatchFormer::LearnStaging(Duration took) {
  staging_ += (took - staging_) / kStagingWeight;
}

BatchFormer::Choice BatchFormer::Choose(const Knobs& knobs, int32_t free_slots,
                                        bool is_drained, TimePoint now) const {
  const BatchPolicy& policy = GetPolicy(knobs.policy);
  const LaneState lanes = Lanes(free_slots, now);
  const Forecast forecast = policy.looks_ahead() ? ForecastAt(now) : Forecast{};
  Choice choice;
  if (queue_.empty() || free_slots == 0) {
    choice.wait = std::get<Wait>(policy.Decide({}, lanes, forecast, now));
    return choice;
  }
  for (const ShapeGroup* group : queue_.groups()) {
    if (choice.group != nullptr && !GoesBefore(*group, *choice.group, knobs)) {
      continue;
    }
    const Decision decision =
        policy.Decide(State(*group, knobs, is_drained), lanes, forecast, now);
    if (const auto* dispatch = std::get_if<Dispatch>(&decision)) {
      choice.group = group;
      choice.reason = dispatch->reason;
    } else {
      const Wait& wait = std::get<Wait>(decision);
      choice.wait.until = std::min(choice.wait.until, wait.until);
      choice.wait.wake_at_rows =
          std::min(choice.wait.wake_at_rows,
                   OfWholeQueue(wait.wake_at_rows, *group, queue_));
    }
  }
  return choice;
}

int32_t BatchFormer::LeadingLevel(const ShapeGroup& group) const {
  for (int32_t level = 1; level < options_.levels; ++level) {
    if (shares_.IsOwedABatch(level) &&
        group.levels()[static_cast<size_t>(level)].oldest != nullptr) {
      return kOwedABatch;
    }
  }
  return group.most_urgent_level();
}

bool BatchFormer::GoesBefore(const ShapeGroup& a, const ShapeGroup& b,
                             const Knobs& knobs) const {
  const int32_t level_of_a = LeadingLevel(a);
  const int32_t level_of_b = LeadingLevel(b);
  if (level_of_a == level_of_b) {
    return a.any().arrival < b.any().arrival;
  }
  if (!last_was_full_) {
    const BatchLimits limits = Limits(knobs);
    const bool a_is_full = PlanBatch(a, shares_, limits).is_full;
    if (a_is_full != PlanBatch(b, shares_, limits).is_full) {
      return a_is_full;
    }
  }
  return level_of_a < level_of_b;
}

LaneState BatchFormer::Lanes(int32_t free_slots, TimePoint now) const {
  LaneState lanes{.free_slots = free_slots, .close_at = now};
  if (lanes_.idle_lanes() == 0) {
    lanes.close_at = std::max(now, lanes_.FreeAt(now) - staging_ - kHandOver);
  }
  return lanes;
}

Forecast BatchFormer::ForecastAt(TimePoint now) const {
  return {.rows_per_ns = arrivals_.RowsPerNano(now),
          .service = service_time_.line(),
          .lanes = options_.lanes};
}

QueueState BatchFormer::State(const ShapeGroup& group, const Knobs& knobs,
                              bool is_drained) const {
  const BatchLimits limits = Limits(knobs);
  const BatchPlan plan = PlanBatch(group, shares_, limits);
  QueueState state{.rows = plan.rows,
                   .oldest_arrival = group.oldest_arrival(),
                   .max_batch_size = limits.rows,
                   .max_wait = knobs.max_wait};
  // Each further request brings one row at least.
  state.full_at_rows =
      std::min(limits.rows, plan.rows + limits.requests - plan.requests);
  state.latest_start = LatestStart(group, plan.rows, knobs);
  if (plan.is_full) {
    state.growth = Growth::kFull;
  } else if (is_drained) {
    state.growth = Growth::kDrained;
  }
  return state;
}

TimePoint BatchFormer::LatestStart(const ShapeGroup& group, int32_t rows,
                                   const Knobs& knobs) const {
  // The earliest of the queue presses its own group only.
  const InferRequest* const first = queue_.deadlines().earliest();
  if (first == nullptr || first->group != &group) {
    return kNever;
  }
  const int32_t one_more = std::min(rows + 1, knobs.max_batch_size);
  return first->due - service_time_.Bound(one_more) - kMargin;
}

InferRequest* BatchFormer::FindLate(const ShapeGroup& group, const Knobs& knobs,
                                    TimePoint now) const {
  if (now > BelievedUntil()) {
    return nullptr;
  }
  BatchPlan plan = PlanBatch(group, shares_, Limits(knobs));
  const TimePoint end =
      lanes_.FreeAt(now) + service_time_.Bound(plan.rows) + kMargin;
  if (queue_.deadlines().earliest_due() >= end) {
    return nullptr;
  }
  JoinOrder order(group, shares_);
  for (; plan.requests > 0; --plan.requests) {
    InferRequest* const request = order.Peek();
    if (request->due < end) {
      return request;
    }
    order.Pop();
  }
  return nullptr;
}

Duration BatchFormer::PressingTime(const Knobs& knobs) const {
  return GetPolicy(knobs.policy).looks_ahead()
             ? service_time_.Bound(knobs.max_batch_size) + kMargin
             : Duration(0);
}

WaitForecast::Facts BatchFormer::FactsForProducers(const Knobs& knobs,
                                                   TimePoint now) const {
  const int32_t full = knobs.max_batch_size;
  const Duration per_row(std::llround(service_time_.line().beta_ns));
  WaitForecast::Facts facts{
      .max_batch_size = full,
      .lanes = options_.lanes,
      .open_batches = static_cast<int32_t>(queue_.groups().size()),
      .full_batch = service_time_.Expected(full),
      .own_batch_base = service_time_.Bound(full) - full * per_row + kMargin,
      .own_batch_per_row = per_row,
      .lane_free_at = lanes_.FreeAt(now),
      .believed_until = BelievedUntil()};
  for (int32_t level = 0; options_.levels > 1 && level < options_.levels;
       ++level) {
    facts.taken_by_others[static_cast<size_t>(level)] =
        shares_.TakenByOthers(level);
  }
  return facts;
}

}  // namespace ferry
