// The batcher's thread: takes what was pushed, answers, forms batches.
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "batcher/batcher.h"

namespace ferry {
namespace {

constexpr Outcome kCancelled = {absl::StatusCode::kCancelled,
                                "request was cancelled while it was queued"};
constexpr Outcome kExpired = {
    absl::StatusCode::kDeadlineExceeded,
    "request passed its deadline while it was queued"};
// What a batch takes beside its compute: wake-ups, the gather, its replies.
constexpr Duration kDeadlineMargin = std::chrono::microseconds(500);

constexpr Outcome kStopped = {absl::StatusCode::kUnavailable,
                              "server stopped before the request was started"};

}  // namespace

void Batcher::Run() {
  pthread_setname_np(pthread_self(), "ferry-batcher");
  UsePreciseTimers();
  while (!stop_.load(std::memory_order_seq_cst) || !idle()) {
    const EventCount::Key key = events_.PrepareWait();
    const Wait wait = Step();
    if (HasNews()) {
      events_.CancelWait();
      continue;
    }
    if (stop_.load(std::memory_order_seq_cst) && idle()) {
      events_.CancelWait();
      break;
    }
    events_.Wait(key, wait.until);
  }
}

Wait Batcher::Step() {
  TakeFinished();
  TakePushed();
  TakeCancelled();
  if (give_up_queued_.load(std::memory_order_seq_cst)) {
    AnswerAll(kStopped);
  } else if (broken()) {
    AnswerAll(kDeviceLost);
  }
  Wait wait;
  LaneState lanes;
  for (;;) {
    const TimePoint now = AnswerExpired();
    lanes = {.free_slots = free_slots_.load(std::memory_order_seq_cst)};
    if (batches_.empty()) {
      lanes.free_slots = 0;  // replies are slow: TakeFinished() brings one
    }
    const Decision decision =
        policy_->Decide(lanes.free_slots > 0 ? PlanBatch() : QueueState{},
                        lanes, forecasts_ ? ForecastAt(now) : Forecast{}, now);
    if (const auto* dispatch = std::get_if<Dispatch>(&decision)) {
      StartBatch(dispatch->reason, now);
      continue;
    }
    wait = std::get<Wait>(decision);
    break;
  }
  if (has_variable_shape_ && wait.wake_at_rows != Wait::kNoRows) {
    wait.wake_at_rows = 1;  // another shape closes the batch
  }
  wait.until = std::min(wait.until, queue_.deadlines().earliest_deadline());
  PublishWait(wait, lanes);
  TellIfDrained();
  return wait;
}

void Batcher::PublishWait(const Wait& wait, const LaneState& lanes) {
  wait_until_nanos_.store(ToNanos(wait.until), std::memory_order_seq_cst);
  wake_at_rows_.store(wait.wake_at_rows, std::memory_order_seq_cst);
  wants_batch_.store(batches_.empty(), std::memory_order_seq_cst);
  wants_slot_.store(lanes.free_slots == 0 && !batches_.empty(),
                    std::memory_order_seq_cst);
}

bool Batcher::HasNews() const {
  return !pushed_.empty() || !cancelled_.empty() || !finished_.empty() ||
         SlotAwaitsRows();
}

void Batcher::TakePushed() {
  InferRequest* next = pushed_.TakeAll();
  while (next != nullptr) {
    InferRequest& request = *std::exchange(next, next->next_pushed);
    queue_.Append(request);
    if (forecasts_) {
      arrivals_.Add(request.arrival, request.rows);
    }
    if (request.cancelled.load(std::memory_order_seq_cst)) {
      Answer(request, kCancelled);
    }
  }
}

void Batcher::TakeCancelled() {
  InferRequest* next = cancelled_.TakeAll();
  while (next != nullptr) {
    InferRequest& request = *std::exchange(next, next->next_cancelled);
    if (request.is_queued) {
      Answer(request, kCancelled);
    }
    request.GiveBackHold();
  }
}

void Batcher::TakeFinished() {
  Batch* next = finished_.TakeAll();
  while (next != nullptr) {
    Batch* const batch = std::exchange(next, next->next_finished);
    if (batch->succeeded()) {
      const Batch::Times& times = batch->times();
      Learn({.rows = batch->rows(),
             .took = times.compute_end - times.compute_begin});
    }
    batch->Clear();
    batches_.emplace_back(batch);
    --running_;
  }
}

void Batcher::Learn(const ServiceTimeSample& sample) {
  service_time_.Learn(sample);
  const ServiceTimeLine line = service_time_.line();
  alpha_ns_.store(line.alpha_ns, std::memory_order_relaxed);
  beta_ns_.store(line.beta_ns, std::memory_order_relaxed);
  service_time_drifts_.Set(service_time_.drift_count());
}

Forecast Batcher::ForecastAt(TimePoint now) const {
  return {.rows_per_ns = arrivals_.RowsPerNano(now),
          .service = service_time_.line(),
          .lanes = backend_->lanes()};
}

TimePoint Batcher::LatestStart(int32_t rows) const {
  const TimePoint deadline = queue_.deadlines().earliest_deadline();
  if (deadline == kNever) {
    return kNever;
  }
  const int32_t one_more = std::min(rows + 1, options_.max_batch_size);
  return deadline - service_time_.Bound(one_more) - kDeadlineMargin;
}

TimePoint Batcher::AnswerExpired() {
  TimePoint now = clock_.Now();
  while (queue_.deadlines().earliest_deadline() <= now) {
    Answer(*queue_.deadlines().earliest(), kExpired);
    now = clock_.Now();  // answering takes time, in which more may expire
  }
  return now;
}

void Batcher::AnswerAll(Outcome outcome) {
  while (!queue_.empty()) {
    Answer(*queue_.oldest(), outcome);
  }
}

void Batcher::Answer(InferRequest& request, Outcome outcome) {
  queue_.Remove(request);
  // First, so that whoever is answered finds the room it left.
  admission_.LeaveQueue(1, request.rows);
  admission_.ReleaseBytes(request.bytes);
  answered_.failed_requests[static_cast<size_t>(outcome.code)].Add(1);
  answered_.failed_ns.Add(ElapsedNanos(clock_.Now() - request.arrival));
  request.End(outcome, {});
}

Growth Batcher::GrowthBy(const OpenBatch& open,
                         const InferRequest& next) const {
  if (open.first != nullptr &&
      (next.shape_key != open.first->shape_key ||
       (has_variable_shape_ && !SameShape(next.inputs, open.first->inputs)))) {
    return Growth::kShape;
  }
  const bool fits = open.requests < options_.max_requests_per_batch &&
                    open.rows + next.rows <= options_.max_batch_size;
  return fits ? Growth::kOpen : Growth::kFull;
}

int32_t Batcher::MaxRequests() const {
  return std::min(options_.max_batch_size, options_.max_requests_per_batch);
}

QueueState Batcher::PlanBatch() const {
  QueueState plan{.max_batch_size = options_.max_batch_size,
                  .max_wait = options_.max_wait};
  OpenBatch open;
  for (const InferRequest* next = queue_.oldest();
       next != nullptr && plan.growth == Growth::kOpen; next = next->newer) {
    plan.growth = GrowthBy(open, *next);
    if (plan.growth == Growth::kOpen) {
      open.Join(*next);
    }
  }
  if (open.requests == 0) {
    return plan;
  }
  plan.rows = open.rows;
  // Each further request brings one row at least.
  plan.full_at_rows = std::min(options_.max_batch_size,
                               open.rows + MaxRequests() - open.requests);
  plan.oldest_arrival = open.first->arrival;
  plan.latest_start = forecasts_ ? LatestStart(open.rows) : kNever;
  if (open.rows == options_.max_batch_size ||
      open.requests == options_.max_requests_per_batch) {
    plan.growth = Growth::kFull;
  } else if (plan.growth == Growth::kOpen && admission_.closed()) {
    plan.growth = Growth::kDrained;
  }
  return plan;
}

void Batcher::StartBatch(CloseReason reason, TimePoint now) {
  std::unique_ptr<Batch> batch = std::move(batches_.back());
  batches_.pop_back();
  OpenBatch open;
  while (InferRequest* const request = queue_.oldest()) {
    if (request->cancelled.load(std::memory_order_seq_cst)) {
      Answer(*request, kCancelled);
      continue;
    }
    if (GrowthBy(open, *request) != Growth::kOpen) {
      break;
    }
    open.Join(*request);
    queue_.Remove(*request);
    batch->Add(*request);
  }
  if (open.requests == 0) {  // all of them had been cancelled
    batches_.push_back(std::move(batch));
    return;
  }
  batch->Close(now, reason);
  admission_.LeaveQueue(open.requests, open.rows);
  ++running_;
  free_slots_.fetch_sub(1, std::memory_order_seq_cst);
  backend_->Start(std::move(batch), *this);
}

void Batcher::TellIfDrained() {
  if (!admission_.closed() || !idle()) {
    return;
  }
  MutexLock lock(drain_mutex_);
  drained_ = true;
  drained_changed_.SignalAll();
}

}  // namespace ferry
