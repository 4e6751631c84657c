// A step of the batcher: takes what was pushed, answers, forms batches.
#include <algorithm>
#include <optional>
#include <utility>

#include "batcher/batcher.h"

namespace ferry {
namespace {

constexpr Outcome kCancelled = {absl::StatusCode::kCancelled,
                                "request was cancelled while it was queued"};
constexpr Outcome kExpired = {
    absl::StatusCode::kDeadlineExceeded,
    "request passed its deadline while it was queued"};
constexpr Outcome kTooLate = {
    absl::StatusCode::kDeadlineExceeded,
    "request would have passed its deadline before it was answered"};
constexpr Outcome kStopped = {absl::StatusCode::kUnavailable,
                              "server stopped before the request was started"};

}  // namespace

Wait Batcher::Step() {
  TakeFinished();
  TakePushed();
  TakeCancelled();
  if (give_up_queued_.load(std::memory_order_seq_cst)) {
    AnswerAll(kStopped);
  } else if (broken()) {
    AnswerAll(kDeviceLost);
  }
  knobs_changed_.exchange(false, std::memory_order_seq_cst);
  const Knobs knobs = this->knobs();
  BatchFormer::Choice choice;
  int32_t free_slots = 0;
  for (;;) {
    const TimePoint now = AnswerExpired();
    free_slots = free_slots_.load(std::memory_order_seq_cst);
    // After the slots: whoever freed one has ended its compute before.
    TakeComputeEnds();
    if (batches_.empty()) {
      free_slots = 0;  // replies are slow: TakeFinished() brings one
    }
    choice = former_.Choose(knobs, free_slots, admission_.closed(), now);
    if (choice.group == nullptr) {
      break;
    }
    StartBatch(choice, knobs, now);
  }
  choice.wait.until =
      std::min(choice.wait.until, former_.queue().deadlines().earliest_due());
  PublishWait(choice, free_slots, knobs);
  TellIfDrained();
  if (options_.stepping == Stepping::kByCaller) {
    step_key_ = events_.PrepareWait();
  }
  return choice.wait;
}

void Batcher::PublishWait(const BatchFormer::Choice& choice, int32_t free_slots,
                          const Knobs& knobs) {
  wait_forecast_.Publish(former_.FactsForProducers(knobs, clock_.Now()),
                         static_cast<int32_t>(options_.levels.size()));
  compute_ends_published_.store(compute_ends_taken_, std::memory_order_relaxed);
  pressing_nanos_.store(
      choice.can_be_pressed ? former_.PressingTime(knobs).count() : 0,
      std::memory_order_seq_cst);
  wait_until_nanos_.store(ToNanos(choice.wait.until),
                          std::memory_order_seq_cst);
  wake_at_rows_.store(choice.wait.wake_at_rows, std::memory_order_seq_cst);
  ordered_shape_.store(choice.ordered_shape, std::memory_order_seq_cst);
  wants_batch_.store(batches_.empty(), std::memory_order_seq_cst);
  awaited_slots_.store(
      choice.waits_for_slot && !batches_.empty() ? free_slots + 1 : kNoSlots,
      std::memory_order_seq_cst);
  wants_lane_.store(!choice.waits_for_slot && !former_.queue().empty(),
                    std::memory_order_seq_cst);
}

void Batcher::TakePushed() {
  InferRequest* next = pushed_.TakeAll();
  while (next != nullptr) {
    InferRequest& request = *std::exchange(next, next->next_pushed);
    former_.Append(request);
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

void Batcher::TakeComputeEnds() {
  const uint64_t ends = compute_ends_.load(std::memory_order_seq_cst);
  if (ends == compute_ends_taken_) {
    return;
  }
  compute_ends_taken_ = ends;
  for (const Batch* batch : all_batches_) {
    if (batch->has_compute_ended()) {
      former_.ComputeEnded(*batch);
    }
  }
}

void Batcher::TakeFinished() {
  Batch* next = finished_.TakeAll();
  if (next != nullptr) {
    TakeComputeEnds();  // before what they say is cleared
  }
  while (next != nullptr) {
    Batch* const batch = std::exchange(next, next->next_finished);
    if (batch->succeeded()) {
      const Batch::Times& times = batch->times();
      Learn({.rows = batch->rows(),
             .took = (times.holds_lane ? times.delivered : times.compute_end) -
                     times.lane_begin},
            batch->shape_key());
      if (times.staging > Duration(0)) {
        former_.LearnStaging(times.staging);
      }
      former_.Answered(*batch);
    }
    batch->Clear();
    batches_.emplace_back(batch);
    --running_;
  }
}

void Batcher::Learn(const ServiceTimeSample& sample, uint64_t shape_key) {
  former_.Learn(sample, shape_key);
  const ServiceTimeLine line = former_.service_time().line();
  alpha_ns_.store(line.alpha_ns, std::memory_order_relaxed);
  beta_ns_.store(line.beta_ns, std::memory_order_relaxed);
  service_time_drifts_.Set(former_.service_time().drift_count());
}

TimePoint Batcher::AnswerExpired() {
  const DeadlineHeap& deadlines = former_.queue().deadlines();
  TimePoint now = clock_.Now();
  while (deadlines.earliest_due() <= now) {
    InferRequest& request = *deadlines.earliest();
    if (IsToBeDelayed(request)) {
      former_.Delay(request);
    } else {
      former_.Missed(request);
      Answer(request, kExpired);
    }
    now = clock_.Now();  // answering takes time, in which more may expire
  }
  return now;
}

void Batcher::AnswerAll(Outcome outcome) {
  while (!former_.queue().empty()) {
    Answer(former_.queue().any(), outcome);
  }
}

void Batcher::Answer(InferRequest& request, Outcome outcome) {
  former_.Remove(request);
  // First, so that whoever is answered finds the room it left.
  admission_.LeaveLevel(request.level, 1, request.rows);
  admission_.LeaveQueue(1, request.rows);
  admission_.ReleaseBytes(request.bytes);
  const std::optional<Ending> ending = request.EndingOf({outcome, {}});
  if (ending.has_value()) {
    answered_.failed_requests[static_cast<size_t>(ending->outcome.code)].Add(1);
    answered_.failed_ns.Add(ElapsedNanos(clock_.Now() - request.arrival));
  }
  request.End(ending);
}

int32_t Batcher::MaxRequests() const {
  return std::min(options_.max_batch_size, options_.max_requests_per_batch);
}

void Batcher::StartBatch(const BatchFormer::Choice& choice, const Knobs& knobs,
                         TimePoint now) {
  bool has_dropped = false;
  const int32_t max_rows =
      former_.Prune(*choice.group, knobs, now,
                    [&](InferRequest& request, BatchFormer::Dropped why) {
                      has_dropped = true;
                      if (why == BatchFormer::Dropped::kCancelled) {
                        Answer(request, kCancelled);
                      } else if (IsToBeDelayed(request)) {
                        former_.Delay(request);
                      } else {
                        answered_.dropped_requests.Add(1);
                        former_.Missed(request);
                        Answer(request, kTooLate);
                      }
                    });
  if (has_dropped) {
    return;
  }
  const int32_t rows =
      former_.CheapestRows(*choice.group, knobs, max_rows, now);
  std::unique_ptr<Batch> batch = std::move(batches_.back());
  batches_.pop_back();
  // Of a whole bucket as much as of max_batch_size.
  const bool is_full =
      former_.TakeBatch(*choice.group, knobs, rows, *batch) || rows < max_rows;
  former_.Started(*batch, knobs, is_full, now);
  for (const Batch::Entry& entry : batch->entries()) {
    admission_.LeaveLevel(entry.request->level, 1, entry.rows);
  }
  admission_.LeaveQueue(static_cast<int32_t>(batch->entries().size()),
                        batch->rows());
  batch->Close(now, choice.reason);
  order_.Started(*batch);
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
