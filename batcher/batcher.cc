// The batcher's thread, and the doors to it.
#include "batcher/batcher.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "batcher/check.h"

namespace ferry {
namespace {

constexpr Outcome kCancelled = {absl::StatusCode::kCancelled,
                                "request was cancelled while it was queued"};
constexpr Outcome kExpired = {
    absl::StatusCode::kDeadlineExceeded,
    "request passed its deadline while it was queued"};
constexpr Outcome kStopped = {absl::StatusCode::kUnavailable,
                              "server stopped before the request was started"};
constexpr Outcome kBroken = {absl::StatusCode::kUnavailable,
                             "model's device is lost"};

uint64_t Nanos(Duration duration) {
  return static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0));
}

absl::Status CheckOptions(const BatcherOptions& options) {
  const auto at_least_1 = [](const char* name, int64_t value) {
    return value >= 1 ? absl::OkStatus()
                      : absl::InvalidArgumentError(absl::StrCat(
                            name, ": expected at least 1, got ", value));
  };
  absl::Status status = at_least_1("max_batch_size", options.max_batch_size);
  status.Update(
      at_least_1("max_requests_per_batch", options.max_requests_per_batch));
  status.Update(at_least_1("queue.requests", options.queue.requests));
  status.Update(at_least_1("queue.rows", options.queue.rows));
  status.Update(at_least_1("queue.bytes", options.queue.bytes));
  status.Update(
      at_least_1("max_undelivered_batches", options.max_undelivered_batches));
  if (options.max_wait < Duration(0)) {
    status.Update(absl::InvalidArgumentError(
        "max_wait: expected at least 0, got a negative time"));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Batcher>> Batcher::Create(
    std::unique_ptr<Backend> backend, const BatcherOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) {
    return status;
  }
  return std::unique_ptr<Batcher>(new Batcher(std::move(backend), options));
}

Batcher::Batcher(std::unique_ptr<Backend> backend,
                 const BatcherOptions& options)
    : options_(options),
      clock_(*options.clock),
      policy_(MakePolicy(options.policy)),
      has_variable_shape_(HasVariableShape(backend->spec())),
      admission_(options.queue),
      free_slots_(backend->slots()),
      queue_(options.queue.requests),
      answered_(options.max_batch_size),
      lane_busy_ns_(static_cast<size_t>(backend->lanes())),
      backend_(std::move(backend)) {
  const int32_t batches = backend_->slots() + options_.max_undelivered_batches;
  for (int32_t i = 0; i < batches; ++i) {
    batches_.push_back(
        std::make_unique<Batch>(MaxRequests(), options_.max_batch_size));
    all_batches_.push_back(batches_.back().get());
  }
  if (options_.stepping == Stepping::kOwnThread) {
    thread_ = std::thread([this] { Run(); });
  }
}

Batcher::~Batcher() {
  BeginDrain();
  give_up_queued_.store(true, std::memory_order_seq_cst);
  if (thread_.joinable()) {
    stop_.store(true, std::memory_order_seq_cst);
    events_.Notify();
    thread_.join();
  } else {
    Step();
  }
  backend_.reset();  // waits for its batches, which report here
  TakeFinished();
  TakeCancelled();  // of requests that ended with those
}

absl::Status Batcher::Submit(InferRequest& request) {
  Check(request.rows >= 1 && request.completion != nullptr,
        "a request has rows and a completion");
  request.arrival = clock_.Now();
  if (request.rows > options_.max_batch_size) {
    return Refuse(Refusal::kTooLarge, request);
  }
  if (broken()) {
    return Refuse(Refusal::kBroken, request);
  }
  if (request.deadline <= request.arrival) {
    return Refuse(Refusal::kExpired, request);
  }
  const Admission::Verdict verdict =
      admission_.TryAdmit(request.rows, request.bytes);
  if (verdict != Admission::Verdict::kAdmitted) {
    if (admission_.closed()) {
      events_.Notify();  // it may have seen us counted, and not be drained
    }
    return Refuse(RefusalFor(verdict), request);
  }
  last_arrival_nanos_.store(ToNanos(request.arrival),
                            std::memory_order_relaxed);
  // After the push the request may end at any moment: nothing of it is read.
  const TimePoint deadline = request.deadline;
  request.TakeFirstHold();
  pushed_.Push(request);
  Wake(deadline);
  return absl::OkStatus();
}

Refusal Batcher::RefusalFor(Admission::Verdict verdict) const {
  switch (verdict) {
    case Admission::Verdict::kRequestsFull:
      return Refusal::kQueueRequests;
    case Admission::Verdict::kRowsFull:
      return Refusal::kQueueRows;
    case Admission::Verdict::kBytesFull:
      return Refusal::kQueueBytes;
    case Admission::Verdict::kAdmitted:
    case Admission::Verdict::kClosed:
      break;
  }
  return broken() ? Refusal::kBroken : Refusal::kDraining;
}

absl::Status Batcher::Refuse(Refusal reason, const InferRequest& request) {
  refused_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  const QueueBounds& bounds = options_.queue;
  switch (reason) {
    case Refusal::kTooLarge:
      return absl::InvalidArgumentError(
          absl::StrCat("request batch size: expected at most ",
                       options_.max_batch_size, " rows, got ", request.rows));
    case Refusal::kQueueRequests:
      return absl::ResourceExhaustedError(absl::StrCat(
          "queue is full: it holds at most ", bounds.requests, " requests"));
    case Refusal::kQueueRows:
      return absl::ResourceExhaustedError(absl::StrCat(
          "queue is full: it holds at most ", bounds.rows, " rows"));
    case Refusal::kQueueBytes:
      return absl::ResourceExhaustedError(
          absl::StrCat("queue is full: it holds at most ", bounds.bytes,
                       " bytes, the request brings ", request.bytes));
    case Refusal::kExpired:
      return absl::DeadlineExceededError(
          "request had passed its deadline when it arrived");
    case Refusal::kDraining:
      return absl::UnavailableError(
          "server is draining and takes no new requests");
    case Refusal::kBroken:
      break;
  }
  return absl::UnavailableError(kBroken.text);
}

void Batcher::Wake(TimePoint deadline) {
  // Rows are counted before they are pushed and read after: whoever pushes last
  // sees those of all, whatever the order of their admission.
  if (admission_.rows() >= wake_at_rows_.load(std::memory_order_seq_cst) ||
      ToNanos(deadline) < wait_until_nanos_.load(std::memory_order_seq_cst)) {
    events_.Notify();
  }
}

void Batcher::Cancel(InferRequest& request) {
  if (request.cancelled.exchange(true, std::memory_order_seq_cst)) {
    return;
  }
  // No hold: Submit() has not pushed it yet, and TakePushed() will see the
  // flag; or it has ended.
  if (request.TryHold()) {
    cancelled_.Push(request);
    events_.Notify();
  }
}

void Batcher::BeginDrain() {
  admission_.Close();
  events_.Notify();
}

absl::Status Batcher::Drain(TimePoint until) {
  Check(options_.stepping == Stepping::kOwnThread,
        "Drain() waits for the batcher's own thread");
  BeginDrain();
  MutexLock lock(drain_mutex_);
  while (!drained_) {
    if (clock_.Now() >= until) {
      give_up_queued_.store(true, std::memory_order_seq_cst);
      events_.Notify();
      return absl::DeadlineExceededError(
          "not everything admitted was answered in time");
    }
    drained_changed_.WaitUntil(drain_mutex_, until);
  }
  return absl::OkStatus();
}

// --- events of the backend -------------------------------------------------

void Batcher::Staged(Batch& batch) { admission_.ReleaseBytes(batch.bytes()); }

void Batcher::ComputeEnded(Batch& batch) {
  const Batch::Times& times = batch.times();
  lane_busy_ns_[static_cast<size_t>(batch.lane())].Add(
      Nanos(times.compute_end - times.compute_begin));
}

void Batcher::SlotFree() {
  free_slots_.fetch_add(1, std::memory_order_seq_cst);
  events_.Notify();
}

void Batcher::Finished(std::unique_ptr<Batch> batch) {
  batch->Resolve(clock_);
  finished_.Push(*batch.release());
  events_.Notify();
}

void Batcher::Broken(Outcome) {
  broken_.store(true, std::memory_order_seq_cst);
  BeginDrain();
}

// --- batcher thread --------------------------------------------------------

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
    AnswerAll(kBroken);
  }
  Wait wait;
  for (;;) {
    const TimePoint now = AnswerExpired();
    LaneState lanes{free_slots_.load(std::memory_order_seq_cst)};
    if (batches_.empty()) {
      lanes.free_slots = 0;  // replies are slow: TakeFinished() brings one
    }
    const Decision decision = policy_->Decide(
        lanes.free_slots > 0 ? PlanBatch() : QueueState{}, lanes, now);
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
  wait_until_nanos_.store(ToNanos(wait.until), std::memory_order_seq_cst);
  wake_at_rows_.store(wait.wake_at_rows, std::memory_order_seq_cst);
  TellIfDrained();
  return wait;
}

bool Batcher::HasNews() const {
  return !pushed_.empty() || !cancelled_.empty() || !finished_.empty();
}

void Batcher::TakePushed() {
  InferRequest* next = pushed_.TakeAll();
  while (next != nullptr) {
    InferRequest& request = *std::exchange(next, next->next_pushed);
    queue_.Append(request);
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
    batch->Clear();
    batches_.emplace_back(batch);
    --running_;
  }
  running_batches_.store(running_, std::memory_order_relaxed);
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
  answered_.failed_ns.Add(Nanos(clock_.Now() - request.arrival));
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
  running_batches_.store(running_, std::memory_order_relaxed);
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

BatcherStatistics Batcher::Snapshot() const {
  BatcherStatistics result(options_.max_batch_size);
  answered_.MergeInto(result.served);
  for (const Batch* batch : all_batches_) {
    batch->statistics().MergeInto(result.served);
  }
  for (size_t i = 0; i < refused_.size(); ++i) {
    result.refused[i] = refused_[i].load(std::memory_order_relaxed);
  }
  for (const Counter& busy : lane_busy_ns_) {
    result.busy.push_back(Duration(static_cast<int64_t>(busy.value())));
  }
  result.queued_requests = admission_.requests();
  result.queued_rows = admission_.rows();
  result.queued_bytes = admission_.bytes();
  result.last_arrival =
      FromNanos(last_arrival_nanos_.load(std::memory_order_relaxed));
  result.running_batches = running_batches_.load(std::memory_order_relaxed);
  return result;
}

}  // namespace ferry
