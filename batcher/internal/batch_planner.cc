// Implements BatchPlanner: orders groups, plans a batch, publishes estimates.
#include "batcher/internal/batch_planner.h"

#include <cmath>
#include <limits>

namespace ferry {
namespace {

constexpr int32_t kDeficitOfABatch = -1;  // more urgent than level 0
// The price of a row in the smaller bucket, of that in the whole batch.
constexpr double kWorthCutting = 0.95;
// Each so many-th batch that is worth a cut leaves whole, to see whether the
// larger size has become faster.
constexpr int64_t kCutsAProbe = 32;
// A level counts on this part of the time of the device.
constexpr double kLeastShare = 0.01;

}  // namespace

BatchPlanner::BatchPlanner(const Options& options)
    : options_(options),
      queue_(options.max_queued_requests, options.levels),
      shares_(options.levels),
      times_(options.max_batch_size, options.buckets),
      plan_(std::min(options.max_batch_size, options.max_requests_per_batch)) {}

void BatchPlanner::Add(InferRequest& request) {
  queue_.Append(request);
  arrivals_.Add(request.arrival, request.rows);
}

void BatchPlanner::Learn(const ServiceTimeSample& sample, uint64_t shape_key) {
  times_.Learn(sample, shape_key);
  if (fastest_ == Duration(0) || sample.took < fastest_) {
    fastest_ = sample.took;
  }
}

// --- the order in which requests join ----------------------------------------

JoinOrder::JoinOrder(const ShapeGroup& group, const LevelShares& shares)
    : shares_(shares) {
  for (int32_t level = 0; level < shares.levels(); ++level) {
    const auto i = static_cast<size_t>(level);
    next_[i] = group.levels()[i].oldest;
    takes_deficit_ =
        takes_deficit_ || (next_[i] != nullptr && shares.Deficit(level) > 0);
  }
  level_ = 0;
  deficit_ = shares.Deficit(0);
  FindLevel();
}

void JoinOrder::Pop() {
  InferRequest*& next = next_[static_cast<size_t>(level_)];
  deficit_ -= next->rows;
  next = next->newer;
  FindLevel();
}

// Moves on to the level whose turn it is, or stays at the last, which is empty.
void JoinOrder::FindLevel() {
  for (;;) {
    const InferRequest* const next = next_[static_cast<size_t>(level_)];
    const bool may_be_larger =
        shares_.HasFullDeficit(level_) && deficit_ == shares_.Deficit(level_);
    if (next != nullptr &&
        (!takes_deficit_ || next->rows <= deficit_ || may_be_larger)) {
      return;
    }
    if (level_ + 1 < shares_.levels()) {
      ++level_;
      deficit_ = shares_.Deficit(level_);
    } else if (takes_deficit_) {
      takes_deficit_ = false;
      level_ = 0;
    } else {
      return;
    }
  }
}

// --- when, and which group ---------------------------------------------------

BatchPlanner::Choice BatchPlanner::Choose(const InstanceState& instance,
                                          bool is_drained,
                                          TimePoint now) const {
  const PolicyKind policy = runtime_.policy;
  Choice choice;
  if (queue_.empty()) {
    const BatchLimits limits = Limits();
    choice.wait = std::get<Wait>(
        Decide(policy, {.full_at_rows = std::min(limits.rows, limits.requests)},
               instance, {}, now));
    return choice;
  }
  const Forecast forecast = LooksAhead(policy) ? ForecastAt(now) : Forecast{};
  const ShapeGroup* const only =
      options_.preserve_ordering ? OldestGroup() : nullptr;
  const bool is_early = now < instance.ready_at;
  Rank least;                                     // of the choice
  Rank first = {true, kMaxLevels, true, kNever};  // of all
  for (const ShapeGroup* group : queue_.groups()) {
    if (only != nullptr && group != only) {
      continue;
    }
    const Rank rank = RankOf(*group);
    first = std::min(first, rank);
    if (choice.group != nullptr && rank >= least) {
      continue;
    }
    const Decision decision = Decide(
        policy, StateOf(*group, is_early, is_drained), instance, forecast, now);
    if (const auto* dispatch = std::get_if<Dispatch>(&decision)) {
      choice.group = group;
      choice.reason = dispatch->reason;
      least = rank;
      continue;
    }
    const Wait& wait = std::get<Wait>(decision);
    choice.wait.until = std::min(choice.wait.until, wait.until);
    if (wait.wake_at_rows != Wait::kNoRows) {
      // The instance waits for rows of the whole queue. Any other shape closes
      // a batch that preserves order, so each further row counts then.
      const bool any_row = only != nullptr && group->any().shape_key != 0;
      choice.wait.wake_at_rows = std::min(
          choice.wait.wake_at_rows,
          queue_.rows() + (any_row ? 1 : wait.wake_at_rows - group->rows()));
    }
  }
  if (is_early && choice.group != nullptr && least > first) {
    choice.group = nullptr;  // it would overtake a group that may yet grow
  }
  return choice;
}

const ShapeGroup* BatchPlanner::OldestGroup() const {
  return *std::min_element(queue_.groups().begin(), queue_.groups().end(),
                           [](const ShapeGroup* a, const ShapeGroup* b) {
                             return a->any().arrival < b->any().arrival;
                           });
}

BatchLimits BatchPlanner::LimitsOf(const ShapeGroup& group) const {
  BatchLimits limits = Limits();
  if (options_.preserve_ordering) {
    for (const ShapeGroup* other : queue_.groups()) {
      if (other != &group) {
        limits.newest = std::min(limits.newest, other->any().arrival);
      }
    }
  }
  return limits;
}

BatchPlanner::Rank BatchPlanner::RankOf(const ShapeGroup& group) const {
  const bool has_levels = options_.levels > 1;
  return {has_levels && !last_was_full_ && !IsFull(group),
          has_levels ? LeadingLevel(group) : 0, group.any().is_delayed,
          group.any().arrival};
}

int32_t BatchPlanner::LeadingLevel(const ShapeGroup& group) const {
  for (int32_t level = 1; level < options_.levels; ++level) {
    if (shares_.Deficit(level) >= FullRows() &&
        group.levels()[static_cast<size_t>(level)].oldest != nullptr) {
      return kDeficitOfABatch;
    }
  }
  return group.most_urgent_level();
}

Forecast BatchPlanner::ForecastAt(TimePoint now) const {
  return {.rows_per_ns = arrivals_.RowsPerNano(now),
          .service = times_.all().line(),
          .instances = options_.instances,
          .buckets = options_.buckets};
}

QueueState BatchPlanner::StateOf(const ShapeGroup& group, bool is_early,
                                 bool is_drained) const {
  const BatchLimits limits = Limits();
  QueueState state{.rows = std::min(group.rows(), limits.rows),
                   .oldest_arrival = group.oldest_arrival(),
                   .max_batch_size = limits.rows,
                   .max_wait = runtime_.max_wait};
  // Each further request brings one row at least.
  state.full_at_rows =
      std::min(limits.rows, group.rows() + limits.requests - group.requests());
  // What arrives from now on stands behind the other shapes.
  const bool is_closed_by_others =
      options_.preserve_ordering && queue_.groups().size() > 1;
  // Beside a batch that computes more may join.
  const int32_t enough = is_early ? 0 : options_.enough_rows;
  if (enough > 0) {
    state.full_at_rows = std::min(state.full_at_rows, enough);
  }
  if (IsFull(group) || is_closed_by_others ||
      (enough > 0 && group.rows() >= enough)) {
    state.growth = Growth::kFull;
  } else if (is_drained) {
    state.growth = Growth::kDrained;
  } else if (LooksAhead(runtime_.policy)) {
    state.latest_start = LatestStart(group, state.rows);
  }
  return state;
}

TimePoint BatchPlanner::LatestStart(const ShapeGroup& group,
                                    int32_t rows) const {
  const TimePoint due = group.earliest_due();
  if (due == kNever) {
    return kNever;
  }
  const int32_t one_more = std::min(rows + 1, runtime_.max_batch_size);
  const ServiceTimeModel& times = TimesOf(group);
  return due - std::max(times.Bound(rows), times.Bound(one_more)) - 2 * kMargin;
}

Duration BatchPlanner::CriticalTime() const {
  if (!LooksAhead(runtime_.policy)) {
    return Duration(0);
  }
  Duration longest = times_.all().Bound(runtime_.max_batch_size);
  times_.VisitShapes([&](const ServiceTimes::Shape& shape) {
    longest = std::max(longest, shape.model.Bound(runtime_.max_batch_size));
  });
  return longest + 2 * kMargin;
}

// --- the plan ----------------------------------------------------------------

bool BatchPlanner::MakePlan(const ShapeGroup& group, TimePoint begin,
                            TimePoint now, OnDropped on_dropped) {
  if (!ListPlan(group, begin, now, on_dropped)) {
    return false;
  }
  if (!options_.buckets.empty()) {
    CutToCheapest(group, begin);
  }
  return true;
}

bool BatchPlanner::ListPlan(const ShapeGroup& group, TimePoint begin,
                            TimePoint now, OnDropped on_dropped) {
  const BatchLimits limits = LimitsOf(group);
  const ServiceTimeModel& times = TimesOf(group);
  const bool is_valid = now <= ValidUntil(times_.all(), tried_at_);
  const bool was_full = IsFull(group);
  const auto end_with = [&](int32_t rows) {
    return is_valid
               ? begin + kMargin +
                     times.Expected(std::min(rows, options_.max_batch_size))
               : now;
  };
  plan_.Clear();
  plan_is_full_ = false;
  bool has_dropped = false;
  InferRequest* first_due = nullptr;  // of the plan
  JoinOrder order(group, shares_);
  while (InferRequest* const next = order.Peek()) {
    if (!plan_.Fits(*next, limits)) {
      plan_is_full_ = true;
      return !has_dropped;
    }
    order.Pop();
    const TimePoint end = end_with(plan_.rows() + next->rows);
    const bool is_cancelled = next->IsCancelled();
    const bool is_late = next->due < (next->is_probe ? now : end);
    if (is_cancelled || is_late) {  // with those before it alone
      on_dropped(*next, is_cancelled ? Dropped::kCancelled : Dropped::kLate);
      has_dropped = true;
      continue;
    }
    if (first_due != nullptr && first_due->due < end) {
      // It would be late in the larger batch. A full batch is not held back for
      // it, unless those that follow are less urgent.
      if (was_full && first_due->level >= next->level && !next->is_probe) {
        on_dropped(*first_due, Dropped::kLate);
        return false;
      }
      return !has_dropped;
    }
    if (!next->is_probe &&
        (first_due == nullptr || next->due < first_due->due)) {
      first_due = next;
    }
    plan_.Join(*next);
  }
  plan_is_full_ =
      plan_.rows() >= limits.rows || plan_.requests() >= limits.requests;
  return !has_dropped;
}

void BatchPlanner::CutToCheapest(const ShapeGroup& group, TimePoint begin) {
  const ServiceTimeModel& times = TimesOf(group);
  int32_t cheapest = 0;  // requests
  double least_price = std::numeric_limits<double>::infinity();
  double price = 0;
  TimePoint left_behind_due = kNever;  // the first of those after `cheapest`
  for (int32_t i = 0; i < plan_.requests(); ++i) {
    const BatchPlan::Entry& entry = plan_.entries()[static_cast<size_t>(i)];
    price = static_cast<double>(times.Expected(entry.end_row).count()) /
            entry.end_row;
    left_behind_due = std::min(left_behind_due, entry.request->due);
    if (price <= least_price) {
      least_price = price;
      cheapest = i + 1;
      left_behind_due = kNever;
    }
  }
  const int32_t rows = plan_.rows();
  const int32_t cheapest_rows =
      plan_.entries()[static_cast<size_t>(cheapest - 1)].end_row;
  if (times.RowsThatRun(rows) == rows || !times.IsKnown(rows) ||
      least_price >= kWorthCutting * price ||
      IsCriticalBehind(group, left_behind_due, cheapest_rows, begin) ||
      ++cut_count_ % kCutsAProbe == 0) {
    return;
  }
  plan_.CutTo(cheapest);
  plan_is_full_ = true;  // a whole bucket
}

bool BatchPlanner::IsCriticalBehind(const ShapeGroup& group, TimePoint due,
                                    int32_t rows, TimePoint begin) const {
  if (due == kNever) {
    return false;
  }
  // Where others may go first, it is not known when its turn comes. Else the
  // next batch is its own, and may be full by then.
  return options_.levels > 1 || queue_.groups().size() > 1 ||
         due < begin + TimesOf(group).Bound(rows) + kMargin +
                   TimesOf(group).Bound(runtime_.max_batch_size);
}

Duration BatchPlanner::Commit(Batch& batch, TimePoint now) {
  for (const BatchPlan::Entry& entry : plan_.entries()) {
    queue_.Remove(*entry.request);
    batch.Add(*entry.request);
  }
  plan_.Clear();
  last_was_full_ = plan_is_full_;
  tried_at_ = now;
  times_.Tried(batch.shape_key(), now);
  const Duration time = times_.Of(batch.shape_key()).Expected(batch.rows());
  if (options_.levels > 1) {
    CountShares(batch, time);
  }
  return time;
}

void BatchPlanner::CountShares(const Batch& batch, Duration time) {
  std::array<int32_t, kMaxLevels> rows_of{};
  for (const Batch::Entry& entry : batch.entries()) {
    rows_of[static_cast<size_t>(entry.level)] += entry.rows;
  }
  int32_t urgent_rows = 0;
  for (int32_t level = 0; level < options_.levels; ++level) {
    const int32_t own_rows = rows_of[static_cast<size_t>(level)];
    shares_.Count(level,
                  {.time = time,
                   .max_rows = std::max(runtime_.max_batch_size, batch.rows()),
                   .urgent_rows = urgent_rows,
                   .own_rows = own_rows,
                   .other_rows = batch.rows() - urgent_rows - own_rows,
                   .waits = queue_.level_rows(level) > 0});
    urgent_rows += own_rows;
  }
}

// --- for producers -----------------------------------------------------------

TimePoint BatchPlanner::ValidUntil(const ServiceTimeModel& times,
                                   TimePoint tried_at) const {
  const Duration full = times.Expected(options_.max_batch_size);
  return full == Duration(0) ? TimePoint::min()
                             : tried_at + WaitEstimate::kValid + 8 * full;
}

int32_t BatchPlanner::FullRows() const {
  const int64_t requests = Limits().requests;
  int64_t rows = requests;  // of one row each
  if (queue_.requests() > 0) {
    rows = requests * queue_.rows() / queue_.requests();
  }
  return static_cast<int32_t>(
      std::clamp<int64_t>(rows, 1, runtime_.max_batch_size));
}

Duration BatchPlanner::FullBatch(int32_t full_rows) const {
  if (queue_.empty()) {
    return times_.all().Expected(full_rows);
  }
  double sum_ns = 0;
  for (const ShapeGroup* group : queue_.groups()) {
    sum_ns += group->rows() *
              static_cast<double>(TimesOf(*group).Expected(full_rows).count());
  }
  return Duration(std::llround(sum_ns / queue_.rows()));
}

// One of the partial batches is the request's own; the largest is left out for
// it.
Duration BatchPlanner::PartialBatches(int32_t full_rows) const {
  Duration sum{0};
  Duration largest{0};
  for (const ShapeGroup* group : queue_.groups()) {
    if (const int32_t rows = group->rows() % full_rows; rows > 0) {
      const Duration partial = TimesOf(*group).Expected(rows);
      sum += partial;
      largest = std::max(largest, partial);
    }
  }
  return sum - largest;
}

WaitEstimate::OwnBatch BatchPlanner::OwnBatch(const ServiceTimeModel& times,
                                              int32_t full_rows) {
  const Duration one_row = times.Expected(1);
  const Duration full = times.Expected(full_rows);
  return {.one_row = one_row + kMargin,
          .full = full + kMargin,
          .one_row_margin = times.Bound(1) - one_row,
          .full_margin = times.Bound(full_rows) - full};
}

void BatchPlanner::Publish(WaitEstimate::Queue queue, WaitEstimate& to) const {
  const int32_t full_rows = FullRows();
  queue.valid_until = ValidUntil(times_.all(), tried_at_);
  queue.fastest = fastest_;
  queue.full_rows = full_rows;
  queue.full_batch = FullBatch(full_rows);
  queue.partial_batches =
      queue_.groups().size() > 1 ? PartialBatches(full_rows) : Duration(0);
  queue.own = OwnBatch(times_.all(), full_rows);
  queue.shapes_differ = times_.shapes_differ() ? 1 : 0;
  std::array<WaitEstimate::Shape, ServiceTimes::kMaxShapes> shapes;
  size_t count = 0;
  times_.VisitShapes([&](const ServiceTimes::Shape& shape) {
    shapes[count++] = {.key = shape.key,
                       .valid_until = ValidUntil(shape.model, shape.tried_at),
                       .own = OwnBatch(shape.model, full_rows)};
  });
  queue.shape_count = static_cast<int64_t>(count);
  to.Publish(queue, absl::MakeConstSpan(shapes.data(), count));
  for (int32_t level = 0; level < options_.levels; ++level) {
    to.PublishLevel(level, {.share = std::max(1 - shares_.TakenByOthers(level),
                                              kLeastShare),
                            .delayed_rows = queue_.delayed_rows(level)});
  }
}

}  // namespace ferry
