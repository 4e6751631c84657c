// Implements Scheduler: submission and refusal, pulling, the timer, the end.
#include "batcher/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/thread_priority.h"

namespace ferry {
namespace {

// The way of a closed batch to a device that is about to be free.
constexpr Duration kHandOver = std::chrono::microseconds(100);
constexpr int kStagingWeight = 16;  // of the average, against one more batch
// Cancels that come within it are answered together; G4 promises 1 ms.
constexpr Duration kCancelDelay = std::chrono::microseconds(500);

constexpr std::array<Outcome, 5> kEndedInQueue = {
    Outcome{absl::StatusCode::kCancelled,
            "request was cancelled while it was queued"},
    Outcome{absl::StatusCode::kDeadlineExceeded,
            "request passed its deadline while it was queued"},
    Outcome{absl::StatusCode::kDeadlineExceeded,
            "request would have passed its deadline before it was answered"},
    Outcome{absl::StatusCode::kUnavailable,
            "server stopped before the request was started"},
    Outcome{absl::StatusCode::kUnavailable, "model's device is lost"}};

const Outcome& OutcomeOf(EndedInQueue how) {
  return kEndedInQueue[static_cast<size_t>(how)];
}

std::string Ms(Duration time) {
  return absl::StrFormat(
      "%.3f ms", std::chrono::duration<double, std::milli>(time).count());
}

// The word notify_.
constexpr uint64_t Pack(int32_t rows, InstanceId id) {
  return (static_cast<uint64_t>(rows) << 32) | static_cast<uint32_t>(id);
}
constexpr int32_t RowsOf(uint64_t word) {
  return static_cast<int32_t>(word >> 32);
}
constexpr InstanceId InstanceOf(uint64_t word) {
  return static_cast<InstanceId>(word & 0xffffffffu);
}

// Why a request of more rows than a batch holds is refused, and what to do.
constexpr char kOneBatch[] =
    " rows, as those of this model may depend on each other and are one batch "
    "(send fewer, raise max_batch_size, or where they do not depend write "
    "dynamic_batching {})";

BatchPlanner::Options PlannerOptions(const SchedulerOptions& options,
                                     int32_t instances) {
  return {.max_batch_size = options.max_batch_size,
          .max_requests_per_batch = options.max_requests_per_batch,
          .max_queued_requests = options.queue.requests,
          .levels = static_cast<int32_t>(options.levels.size()),
          .instances = instances,
          .preserve_ordering = options.preserve_ordering,
          .enough_rows = options.enough_rows,
          .buckets = options.buckets};
}

}  // namespace

// --- begin -------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(
    std::vector<std::unique_ptr<Instance>> instances,
    const SchedulerOptions& options) {
  Check(!instances.empty(), "a scheduler has instances");
  absl::Status status = CheckOptions(options);
  if (options.clock != &Clock::Steady()) {
    status.Update(absl::InvalidArgumentError(
        "clock: expected Clock::Steady() for a scheduler with threads"));
  }
  if (!status.ok()) {
    return status;
  }
  const PulledInstances pulled = {
      .each = instances.front()->Describe(),
      .count = static_cast<int32_t>(instances.size())};
  return std::unique_ptr<Scheduler>(
      new Scheduler(std::move(instances), pulled, options));
}

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(
    const PulledInstances& instances, const SchedulerOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) {
    return status;
  }
  return std::unique_ptr<Scheduler>(new Scheduler({}, instances, options));
}

Scheduler::Scheduler(std::vector<std::unique_ptr<Instance>> own_instances,
                     const PulledInstances& instances,
                     const SchedulerOptions& options)
    : options_(options),
      clock_(*options.clock),
      spec_(instances.each.spec),
      max_in_flight_(instances.each.max_in_flight),
      has_threads_(!own_instances.empty()),
      join_budget_(std::make_shared<JoinBudget>(options.queue.bytes)),
      admission_(options.queue, static_cast<int32_t>(options.levels.size())),
      max_part_rows_(options.max_batch_size),
      share_{.weight = options.weight},
      planner_(PlannerOptions(options, instances.count)),
      answered_(options.max_batch_size),
      pool_({.batches = instances.count * instances.each.max_in_flight +
                        options.max_undelivered_batches,
             .max_requests = std::min(options.max_batch_size,
                                      options.max_requests_per_batch),
             .max_rows = options.max_batch_size,
             .preserve_ordering = options.preserve_ordering,
             .clock = options.clock},
            [this](InstanceId id) { record(id).wake.Notify(); }),
      own_instances_(std::move(own_instances)) {
  for (size_t level = 0; level < options_.levels.size(); ++level) {
    admission_.SetLevelBound(static_cast<int32_t>(level),
                             options_.levels[level].max_requests);
  }
  for (int32_t id = 0; id < instances.count; ++id) {
    InstanceRecord& instance = instances_.emplace_back();
    for (int32_t place = 0; place < max_in_flight_; ++place) {
      instance.clients.emplace_back(share_, instance.wake);
    }
    instance.in_flight.reserve(static_cast<size_t>(max_in_flight_));
  }
  {
    MutexLock lock(mutex_);
    planner_.SetOptions(RuntimeOptionsOf(options));
    for (const ServiceTimeSample& sample : instances.each.warm_up_samples) {
      if (sample.rows <= options_.max_batch_size) {
        planner_.Learn(sample, /*shape_key=*/0);
      }
    }
    PublishEstimate(clock_.Now());
  }
  if (has_threads_) {
    timer_thread_ = std::thread([this] { RunTimer(); });
  }
  for (size_t id = 0; id < own_instances_.size(); ++id) {
    own_instances_[id]->Start(*this, static_cast<InstanceId>(id));
  }
}

// --- callers -----------------------------------------------------------------

absl::Status Scheduler::Submit(InferRequest& request) {
  Check(request.rows >= 1 && request.completion != nullptr,
        "a request has rows and a completion");
  Check(request.level >= 0 && request.level < std::ssize(options_.levels),
        "a request's level is one of the scheduler's");
  request.arrival = clock_.Now();
  request.due = DueOf(request);
  const int32_t max_part_rows = max_part_rows_.load(std::memory_order_relaxed);
  const int32_t parts = SplitRequest::PartsOf(request.rows, max_part_rows);
  if (request.rows > MaxRequestRows(request.level, max_part_rows) ||
      static_cast<int64_t>(request.bytes) > admission_.bounds().bytes) {
    return Refuse(Refusal::kTooLarge, request, {}, max_part_rows);
  }
  if (is_device_lost()) {
    return Refuse(Refusal::kBroken, request);
  }
  if (request.due <= request.arrival) {
    return Refuse(Refusal::kExpired, request);
  }
  const std::optional<TimePoint> late = LateFinish(request);
  request.is_probe =
      late.has_value() &&
      wait_estimate_.TakeProbe(request.shape_key, request.arrival);
  if (late.has_value() && !request.is_probe) {
    return Refuse(Refusal::kWouldMiss, request, *late);
  }
  // It is cut before it is admitted: to cut it allocates, and may throw.
  std::unique_ptr<SplitRequest> split;
  if (parts > 1) {
    split = std::make_unique<SplitRequest>(request, max_part_rows, admission_,
                                           join_budget_);
  }
  if (const std::optional<Refusal> refusal = admission_.TryAdmit(
          request.level, parts, request.rows, request.bytes)) {
    if (admission_.closed()) {
      pool_.QueueChanged();  // a drain may have seen this one counted
    }
    return Refuse(*refusal == Refusal::kDraining && is_device_lost()
                      ? Refusal::kBroken
                      : *refusal,
                  request);
  }
  if (split != nullptr) {
    // To cut it took time, in which others may have arrived.
    request.arrival = clock_.Now();
    request.due = DueOf(request);
    split->Stamp();
    request.split = split.release();
  }
  TimePoint look_at =
      request.due == kNever
          ? kNever
          : request.due -
                Duration(critical_ns_.load(std::memory_order_relaxed));
  const uint64_t cancels = cancels_.load(std::memory_order_seq_cst);
  const bool is_cancelled = request.cancelled.load(std::memory_order_seq_cst);
  const TimePoint arrival = request.arrival;
  Push(request);  // from now on the request may be gone
  NotifyWaiter();
  // The timer may have looked for a cancelled request, or given up what is
  // queued, before the push.
  if (is_cancelled || cancels_.load(std::memory_order_seq_cst) != cancels ||
      admission_.closed()) {
    look_at = arrival;
  }
  LowerLook(look_at);
  return absl::OkStatus();
}

void Scheduler::Push(InferRequest& request) {
  if (request.split == nullptr) {
    inbox_.Push(request);
    return;
  }
  // The last part ends the whole, and with it `parts`.
  const absl::Span<SplitRequest::Part> parts = request.split->parts();
  const size_t count = parts.size();
  for (size_t i = 0; i < count; ++i) {
    inbox_.Push(parts[i]);
  }
}

// Rows are counted before the push and read after it: the producer that pushes
// last sees those of all, whatever the order of their admission.
void Scheduler::NotifyWaiter() {
  uint64_t word = notify_.load(std::memory_order_seq_cst);
  if (word != 0 && admission_.rows() >= RowsOf(word) &&
      notify_.compare_exchange_strong(word, 0, std::memory_order_seq_cst)) {
    record(InstanceOf(word)).wake.Notify();
  }
}

void Scheduler::Wake(InstanceId id) {
  if (id != kNone) {
    record(id).wake.Notify();
  }
}

void Scheduler::LowerLook(TimePoint at) {
  const int64_t at_ns = ToNanos(at);
  int64_t look_at = look_at_.load(std::memory_order_seq_cst);
  while (at_ns < look_at) {
    if (look_at_.compare_exchange_weak(look_at, at_ns,
                                       std::memory_order_seq_cst)) {
      timer_.Notify();
      return;
    }
  }
}

void Scheduler::Cancel(InferRequest& request) {
  if (request.cancelled.exchange(true, std::memory_order_seq_cst)) {
    return;
  }
  cancels_.fetch_add(1, std::memory_order_seq_cst);
  LowerLook(clock_.Now() + kCancelDelay);
}

// --- refusals ----------------------------------------------------------------

TimePoint Scheduler::DueOf(const InferRequest& request) const {
  const LevelOptions& level =
      options_.levels[static_cast<size_t>(request.level)];
  Duration timeout = level.default_timeout;
  if (request.timeout > Duration(0) &&
      (timeout == Duration(0) ||
       (level.may_shorten && request.timeout < timeout))) {
    timeout = request.timeout;
  }
  if (timeout == Duration(0) || timeout >= kNever - request.arrival) {
    return request.deadline;
  }
  return std::min(request.deadline, request.arrival + timeout);
}

std::optional<TimePoint> Scheduler::LateFinish(
    const InferRequest& request) const {
  if (request.due == kNever) {
    return std::nullopt;
  }
  WaitEstimate::Ahead ahead = {
      .rows_of_level = admission_.RowsOf(request.level),
      .rows_up_to_level = admission_.RowsUpTo(request.level)};
  const auto after = [&](TimePoint due) -> std::optional<TimePoint> {
    const TimePoint finish =
        wait_estimate_.FinishOf({.rows = request.rows,
                                 .level = request.level,
                                 .shape_key = request.shape_key,
                                 .due = due},
                                ahead, request.arrival);
    return finish > due ? std::optional(finish) : std::nullopt;
  };
  if (!IsToBeDelayed(request)) {
    return after(request.due);
  }
  // Delayed itself it comes behind all others; in time it overtakes those.
  if (request.deadline == kNever || !after(request.deadline).has_value()) {
    return std::nullopt;
  }
  const int64_t overtaken =
      std::min(wait_estimate_.DelayedRows(request.level), ahead.rows_of_level);
  ahead.rows_of_level -= overtaken;
  ahead.rows_up_to_level -= overtaken;
  return after(request.due);
}

int32_t Scheduler::MaxRequestRows(int32_t level, int32_t max_part_rows) const {
  const QueueBounds bounds = admission_.bounds();
  const int32_t of_level =
      options_.levels[static_cast<size_t>(level)].max_requests;
  const int64_t parts = !options_.splits_requests ? 1
                        : of_level > 0 ? std::min(bounds.requests, of_level)
                                       : bounds.requests;
  return static_cast<int32_t>(
      std::min<int64_t>(parts * max_part_rows, bounds.rows));
}

absl::Status Scheduler::Refuse(Refusal reason, const InferRequest& request,
                               TimePoint finish, int32_t max_part_rows) {
  refused_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  const QueueBounds bounds = admission_.bounds();
  switch (reason) {
    case Refusal::kTooLarge: {
      const int32_t most = MaxRequestRows(request.level, max_part_rows);
      return absl::InvalidArgumentError(
          request.rows > most
              ? absl::StrCat("request batch size: expected at most ", most,
                             !options_.splits_requests && most == max_part_rows
                                 ? kOneBatch
                                 : " rows, which is all the queue holds",
                             ", got ", request.rows)
              : absl::StrCat("request size: expected at most ", bounds.bytes,
                             " bytes, which is all the queue holds, got ",
                             request.bytes));
    }
    case Refusal::kQueueRequests:
      return absl::ResourceExhaustedError(absl::StrCat(
          "queue is full: it holds at most ", bounds.requests, " requests"));
    case Refusal::kQueueLevel:
      return absl::ResourceExhaustedError(absl::StrCat(
          "queue is full: it holds at most ",
          options_.levels[static_cast<size_t>(request.level)].max_requests,
          " requests of this priority"));
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
    case Refusal::kWouldMiss: {
      const Duration has = request.due - request.arrival;
      const LevelOptions& level =
          options_.levels[static_cast<size_t>(request.level)];
      return absl::ResourceExhaustedError(absl::StrCat(
          "the queue and the model need longer than the request's deadline: "
          "about ",
          Ms(finish - request.arrival), ", it has ", Ms(has),
          has == request.timeout ? " (parameter 'timeout' is in microseconds)"
          : has == level.default_timeout
              ? " (default_timeout_microseconds of the model's config)"
              : ""));
    }
    case Refusal::kDraining:
      return absl::UnavailableError(
          "server is draining and takes no new requests");
    case Refusal::kBroken:
      break;
  }
  return absl::UnavailableError(OutcomeOf(EndedInQueue::kDeviceLost).text);
}

// --- batcher threads ---------------------------------------------------------

BatchPtr Scheduler::NextBatch(InstanceId id) {
  InstanceRecord& instance = record(id);
  for (;;) {
    if (BatchPtr batch = TryNextBatch(id)) {
      return batch;
    }
    EventCount::Key key = 0;
    TimePoint until;
    {
      MutexLock lock(mutex_);
      if (is_stopped_) {
        instance.wake.CancelWait();
        return nullptr;
      }
      key = instance.key;
      until = instance.until;
    }
    instance.wake.Wait(key, until);
  }
}

BatchPtr Scheduler::TryNextBatch(InstanceId id) {
  SetAside set_aside;
  InstanceId wake = kNone;
  BatchPtr batch;
  {
    MutexLock lock(mutex_);
    batch = Pull(id, set_aside, wake);
  }
  Wake(wake);
  Answer(set_aside);
  return batch;
}

BatchPtr Scheduler::Pull(InstanceId id, SetAside& set_aside, InstanceId& wake) {
  InstanceRecord& instance = record(id);
  instance.is_waiting = false;
  instance.delivers_since = kNever;
  LearnLast(instance, clock_.Now());
  // Called before it looks for anything that it is to be notified of.
  instance.key = instance.wake.PrepareWait();
  TakeInbox(set_aside);
  BatchPtr batch;
  // Each round takes requests out of the queue, and none come in.
  for (;;) {
    const TimePoint now = clock_.Now();
    ExpireQueued(now, set_aside);
    const BatchPlanner::Choice choice =
        planner_.Choose(StateOf(instance, now), admission_.closed(), now);
    Wait wait = choice.wait;
    const bool is_blocked = choice.group != nullptr;  // unless a batch leaves
    if (!is_blocked) {
      LeaveDevice(instance, now);
      if (is_stopped_) {
        return nullptr;
      }
    } else if (batch == nullptr && (batch = pool_.Take(id)) == nullptr) {
      // Its own turn notifies it, so without a batch it would pull for ever.
      LeaveDevice(instance, now);
      wait = {};
    } else if (EnterDevice(instance, now, wait)) {
      if (!Fill(*batch, instance, choice, now, set_aside)) {
        continue;  // requests were set aside: another group may be next
      }
      instance.wake.CancelWait();
      wake = Publish(now);
      PublishEstimate(now);
      return batch;
    }
    BeginWait(instance, wait, is_blocked, now);
    wake = Publish(now);  // where that is this instance it pulls again
    PublishEstimate(now);
    return nullptr;
  }
}

bool Scheduler::EnterDevice(InstanceRecord& instance, TimePoint now,
                            Wait& wait) {
  if (options_.device == nullptr) {
    return true;
  }
  const DeviceShare::Turn turn =
      options_.device->TryEnter(NextClient(instance), now);
  if (!turn.is_let_in) {
    instance.asked_at = std::min(instance.asked_at, now);
    wait = {.until = turn.ask_again};
  }
  return turn.is_let_in;
}

void Scheduler::LeaveDevice(InstanceRecord& instance, TimePoint now) {
  instance.asked_at = kNever;
  if (options_.device != nullptr) {
    options_.device->LeaveWithoutWork(NextClient(instance), now);
  }
}

bool Scheduler::Fill(Batch& batch, InstanceRecord& instance,
                     const BatchPlanner::Choice& choice, TimePoint now,
                     SetAside& set_aside) {
  const TimePoint free_at = FreeAt(instance, now);
  const bool is_made = planner_.MakePlan(
      *choice.group, free_at, now,
      [&](InferRequest& request, BatchPlanner::Dropped why)
          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            if (why == BatchPlanner::Dropped::kCancelled) {
              End(request, EndedInQueue::kCancelled, set_aside);
            } else if (IsToBeDelayed(request)) {
              planner_.Delay(request);
            } else {
              End(request, EndedInQueue::kLate, set_aside);
            }
          });
  if (!is_made) {
    return false;
  }
  const Duration time = planner_.Commit(batch, now);
  for (const Batch::Entry& entry : batch.entries()) {
    admission_.LeaveLevel(entry.level, 1, entry.rows);
  }
  admission_.LeaveQueue(static_cast<int32_t>(batch.entries().size()),
                        batch.rows());
  batch.Close(now, choice.reason, closed_count_++);
  instance.in_flight.push_back({.batch = &batch,
                                .client = &NextClient(instance),
                                .begin = std::min(now, instance.asked_at),
                                .expected = free_at + time});
  instance.asked_at = kNever;
  ++instance.taken;
  return true;
}

void Scheduler::BeginWait(InstanceRecord& instance, const Wait& wait,
                          bool is_blocked, TimePoint now) {
  // One waiter at a time has the alarm of the batch that is queued; one that
  // still computes has its own.
  const bool another_has_alarm =
      !is_blocked && instance.in_flight.empty() &&
      std::any_of(instances_.begin(), instances_.end(),
                  [&](const InstanceRecord& other)
                      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                        return other.is_waiting && !other.is_blocked &&
                               other.until != kNever &&
                               StateOf(other, now).ready_at <= now;
                      });
  instance.is_waiting = true;
  instance.is_blocked = is_blocked;
  instance.wait_number = ++waits_begun_;
  instance.until = another_has_alarm ? kNever : wait.until;
}

InstanceId Scheduler::DesignatedWaiter(TimePoint now) const {
  InstanceId best = kNone;
  // The least is woken: first an idle one, and of those the one that has the
  // alarm; else the last to wait, which is the warmest; of those that compute
  // the first to be ready.
  std::tuple<bool, bool, TimePoint, int64_t> least;
  for (InstanceId id = 0; id < instance_count(); ++id) {
    const InstanceRecord& instance = instances_[static_cast<size_t>(id)];
    if (!instance.is_waiting) {
      continue;
    }
    if (instance.is_blocked) {
      return kNone;  // it has work, and asks again when it may
    }
    const TimePoint ready_at = StateOf(instance, now).ready_at;
    const bool is_busy = ready_at > now;
    const std::tuple rank(is_busy, instance.until == kNever,
                          is_busy ? ready_at : TimePoint(),
                          -instance.wait_number);
    if (best == kNone || rank < least) {
      best = id;
      least = rank;
    }
  }
  return best;
}

InstanceId Scheduler::Publish(TimePoint now) {
  const InstanceId waiter = DesignatedWaiter(now);
  if (waiter == kNone) {
    notify_.store(0, std::memory_order_seq_cst);
    return kNone;
  }
  const InstanceRecord& instance = record(waiter);
  const BatchPlanner::Choice choice =
      planner_.Choose(StateOf(instance, now), admission_.closed(), now);
  if (choice.group == nullptr && choice.wait.until >= instance.until) {
    const int32_t rows = choice.wait.wake_at_rows;
    notify_.store(rows == Wait::kNoRows ? 0 : Pack(rows, waiter),
                  std::memory_order_seq_cst);
    if (inbox_.empty()) {
      return kNone;
    }
  }
  notify_.store(0, std::memory_order_seq_cst);
  return waiter;
}

InstanceState Scheduler::StateOf(const InstanceRecord& instance,
                                 TimePoint now) const {
  if (instance.in_flight.empty()) {
    return {};
  }
  // Among several levels the next to come may be the most urgent.
  return {.ready_at = FreeAt(instance, now) - staging_ - kHandOver,
          .takes_full_early = options_.levels.size() == 1};
}

void Scheduler::LearnLast(InstanceRecord& instance, TimePoint now) {
  if (instance.last.rows == 0) {
    return;
  }
  if (max_in_flight_ == 1) {
    instance.last.took = now - instance.last_begin;
  }
  planner_.Learn(instance.last, instance.last_shape_key);
  instance.last.rows = 0;
}

void Scheduler::Finished(Batch& batch, InstanceId id, const BatchTimes& times,
                         Computed computed) {
  if (computed == Computed::kDeviceLost) {
    DeviceLost();
  }
  batch.set_times(times);
  InstanceRecord& instance = record(id);
  instance.busy_ns.Add(ElapsedNanos(times.compute()));
  admission_.ReleaseBytes(batch.bytes());
  InstanceId wake = kNone;
  {
    MutexLock lock(mutex_);
    const TimePoint now = clock_.Now();
    const auto in_flight =
        std::find_if(instance.in_flight.begin(), instance.in_flight.end(),
                     [&](const auto& each) { return each.batch == &batch; });
    Check(in_flight != instance.in_flight.end(),
          "a batch is finished once, by the instance that pulled it");
    if (options_.device != nullptr) {
      options_.device->Leave(*in_flight->client, times.compute(), now);
    }
    if (computed == Computed::kOk) {
      instance.last = {.rows = batch.rows(), .took = times.compute()};
      instance.last_begin = in_flight->begin;
      instance.last_shape_key = batch.shape_key();
      staging_ += (times.staging - staging_) / kStagingWeight;
    }
    instance.in_flight.erase(in_flight);
    if (max_in_flight_ > 1) {
      LearnLast(instance, now);
    }
    if (instance.is_waiting) {
      wake = Publish(now);                     // it is idle now
    } else if (!options_.preserve_ordering) {  // else it delivers others', too
      instance.delivers_since = now;
    }
    PublishEstimate(now);
  }
  Wake(wake);
}

void Scheduler::DeviceLost() {
  is_device_lost_.store(true, std::memory_order_relaxed);
  admission_.Close();
  GiveUp(EndedInQueue::kDeviceLost);
}

void Scheduler::PublishEstimate(TimePoint now) {
  TimePoint free_at = kNever;
  int64_t idle = 0;
  for (const InstanceRecord& instance : instances_) {
    free_at = std::min(free_at, FreeAt(instance, now));
    idle += instance.in_flight.empty() ? 1 : 0;
  }
  planner_.Publish({.free_at = free_at,
                    .instances = instance_count(),
                    .idle_instances = idle},
                   wait_estimate_);
  critical_ns_.store(planner_.CriticalTime().count(),
                     std::memory_order_relaxed);
}

// --- what ends in the queue --------------------------------------------------

void Scheduler::TakeInbox(SetAside& set_aside) {
  InferRequest* next = inbox_.TakeAll();
  while (next != nullptr) {
    InferRequest& request = *std::exchange(next, next->next);
    planner_.Add(request);
    last_arrival_ = std::max(last_arrival_, request.arrival);
    if (request.IsCancelled()) {
      End(request, EndedInQueue::kCancelled, set_aside);
    } else if (given_up_.has_value()) {
      End(request, *given_up_, set_aside);
    }
  }
}

void Scheduler::ExpireQueued(TimePoint now, SetAside& set_aside) {
  const DeadlineHeap& deadlines = planner_.queue().deadlines();
  while (deadlines.earliest_due() <= now) {
    InferRequest& request = *deadlines.earliest();
    if (IsToBeDelayed(request)) {
      planner_.Delay(request);
    } else {
      End(request, EndedInQueue::kExpired, set_aside);
    }
  }
}

void Scheduler::TakeCancelled(SetAside& set_aside) {
  const uint64_t cancels = cancels_.load(std::memory_order_seq_cst);
  if (cancels == cancels_seen_) {
    return;
  }
  cancels_seen_ = cancels;
  // To end one may end its group, so they are listed first.
  InferRequest* cancelled = nullptr;
  planner_.queue().Visit([&](InferRequest& request) {
    if (request.IsCancelled()) {
      request.next = std::exchange(cancelled, &request);
    }
  });
  while (cancelled != nullptr) {
    InferRequest& request = *std::exchange(cancelled, cancelled->next);
    End(request, EndedInQueue::kCancelled, set_aside);
  }
}

void Scheduler::End(InferRequest& request, EndedInQueue how,
                    SetAside& set_aside) {
  if (set_aside.first == nullptr) {
    pool_.BeginAnswers();  // before the queue looks empty to a drain
  }
  planner_.Remove(request);
  // A client that is answered finds the room that its request left.
  admission_.LeaveLevel(request.level, 1, request.rows);
  admission_.LeaveQueue(1, request.rows);
  admission_.ReleaseBytes(request.bytes);
  request.ended = how;
  request.next = std::exchange(set_aside.first, &request);
}

void Scheduler::Answer(SetAside& set_aside) {
  if (set_aside.first == nullptr) {
    return;
  }
  while (set_aside.first != nullptr) {
    InferRequest& request =
        *std::exchange(set_aside.first, set_aside.first->next);
    const bool is_late = request.ended == EndedInQueue::kLate;
    const TimePoint arrival = request.arrival;
    const std::optional<RequestResult> result =
        JoinResult(request, {OutcomeOf(request.ended), {}});
    {
      MutexLock lock(answers_mutex_);
      answered_.dropped_requests.Add(is_late ? 1 : 0);
      if (result.has_value()) {
        answered_.failed_requests[static_cast<size_t>(result->outcome.code)]
            .Add(1);
        answered_.failed_ns.Add(ElapsedNanos(clock_.Now() - arrival));
      }
    }
    if (result.has_value()) {
      Respond(request, *result);
    }
  }
  pool_.EndAnswers();
}

// --- the timer ---------------------------------------------------------------

void Scheduler::LookAtQueue() {
  SetAside set_aside;
  InstanceId wake = kNone;
  {
    MutexLock lock(mutex_);
    TakeCancelled(set_aside);
    TakeInbox(set_aside);
    const TimePoint now = clock_.Now();
    ExpireQueued(now, set_aside);
    const TimePoint due = planner_.queue().deadlines().earliest_due();
    const Duration critical = planner_.CriticalTime();
    const bool will_be_critical = due != kNever && due - critical > now;
    look_at_.store(ToNanos(will_be_critical ? due - critical : due),
                   std::memory_order_seq_cst);
    // What came meanwhile is for the next look, so that a storm of it does not
    // keep the mutex. None is missed: a producer pushes, and Cancel() counts,
    // before it lowers look_at_. What lowered it after the store above stands;
    // what lowered it before was overwritten, and is seen here. A cancel that
    // TakeCancelled() counted is seen in the queue or by TakeInbox(), because
    // its flag is set before it is counted.
    if (!inbox_.empty()) {
      LowerLook(now);
    } else if (cancels_.load(std::memory_order_seq_cst) != cancels_seen_) {
      LowerLook(now + kCancelDelay);
    }
    // What left the queue counts no longer, and a deadline that has become
    // critical may move the waiter's alarm.
    wake = Publish(now);
    PublishEstimate(now);
  }
  Wake(wake);
  Answer(set_aside);
}

void Scheduler::RunTimer() {
  pthread_setname_np(pthread_self(), "ferry-timer");
  UsePreciseTimers();
  RaiseThreadPriority();
  for (;;) {
    const EventCount::Key key = timer_.PrepareWait();
    const TimePoint at = look_at();
    if (clock_.Now() < at) {
      timer_.Wait(key, at);
      continue;
    }
    timer_.CancelWait();
    LookAtQueue();
    MutexLock lock(mutex_);
    if (is_stopped_) {
      return;
    }
  }
}

// --- control -----------------------------------------------------------------

void Scheduler::BeginDrain() {
  admission_.Close();
  InstanceId wake = kNone;
  {
    MutexLock lock(mutex_);
    wake = Publish(clock_.Now());
  }
  Wake(wake);
  pool_.QueueChanged();
}

void Scheduler::GiveUp(EndedInQueue how) {
  SetAside set_aside;
  {
    MutexLock lock(mutex_);
    if (!given_up_.has_value()) {
      given_up_ = how;
    }
    TakeCancelled(set_aside);
    TakeInbox(set_aside);
    while (!planner_.queue().empty()) {
      End(planner_.queue().any(), *given_up_, set_aside);
    }
  }
  Answer(set_aside);
}

absl::Status Scheduler::Drain(TimePoint until) {
  Check(has_threads_, "Drain() waits for instances that have threads");
  BeginDrain();
  if (pool_.WaitUntilIdle(until,
                          [this] { return admission_.requests() == 0; })) {
    return absl::OkStatus();
  }
  GiveUp(EndedInQueue::kStopped);
  return absl::DeadlineExceededError(
      "not everything admitted was answered in time");
}

Scheduler::~Scheduler() {
  BeginDrain();
  GiveUp(EndedInQueue::kStopped);
  if (has_threads_) {
    pool_.WaitUntilIdle(kNever, [this] { return admission_.requests() == 0; });
    {
      MutexLock lock(mutex_);
      is_stopped_ = true;
    }
    for (InstanceRecord& instance : instances_) {
      instance.wake.Notify();
    }
    LowerLook(TimePoint::min());
    for (const std::unique_ptr<Instance>& instance : own_instances_) {
      instance->Join();
    }
    timer_thread_.join();
  }
  if (options_.device != nullptr) {
    // An instance without a thread does not pull again and give its turn back.
    for (InstanceRecord& instance : instances_) {
      for (Client& client : instance.clients) {
        options_.device->LeaveWithoutWork(client, clock_.Now());
      }
    }
    options_.device->Forget(share_);
  }
}

RuntimeOptions Scheduler::runtime_options() const {
  MutexLock lock(mutex_);
  return planner_.options();
}

absl::Status Scheduler::SetRuntimeOptions(const RuntimeOptions& options) {
  if (absl::Status status =
          CheckRuntimeOptions(options, options_.max_batch_size);
      !status.ok()) {
    return status;
  }
  InstanceId wake = kNone;
  {
    MutexLock lock(mutex_);
    planner_.SetOptions(options);
    admission_.SetBounds(options.queue);
    max_part_rows_.store(options.max_batch_size, std::memory_order_relaxed);
    const TimePoint now = clock_.Now();
    PublishEstimate(now);
    wake = Publish(now);
  }
  Wake(wake);
  return absl::OkStatus();
}

std::vector<DeviceCount> Scheduler::device_counts() const {
  return has_threads_ ? own_instances_.front()->counts()
                      : std::vector<DeviceCount>();
}

SchedulerStatistics Scheduler::Snapshot() const {
  SchedulerStatistics result(options_.max_batch_size);
  {
    MutexLock lock(answers_mutex_);
    answered_.MergeInto(result.served);
  }
  for (const std::unique_ptr<Batch>& batch : pool_.all()) {
    batch->statistics().MergeInto(result.served);
  }
  result.padding_rows = PaddingRows(result.served.by_rows, options_.buckets);
  for (size_t i = 0; i < refused_.size(); ++i) {
    result.refused[i] = refused_[i].load(std::memory_order_relaxed);
  }
  result.queued_requests = admission_.requests();
  result.queued_rows = admission_.rows();
  result.queued_bytes = admission_.bytes();
  result.joined_bytes = options_.queue.bytes - join_budget_->left();
  result.running_batches = pool_.under_way();
  MutexLock lock(mutex_);
  for (const InstanceRecord& instance : instances_) {
    result.busy.emplace_back(static_cast<int64_t>(instance.busy_ns.value()));
    result.in_flight.push_back(
        {.oldest_begin = instance.in_flight.empty()
                             ? instance.delivers_since
                             : instance.in_flight.front().begin,
         .batches = static_cast<int32_t>(instance.in_flight.size())});
  }
  const ServiceTimeModel& times = planner_.service_times().all();
  result.service_time = times.line();
  result.service_time_drifts = times.drift_count();
  result.full_batch_time = times.Expected(planner_.options().max_batch_size);
  result.last_arrival = last_arrival_;
  return result;
}

// --- tests and simulations ---------------------------------------------------

TimePoint Scheduler::PullAt(InstanceId id) const {
  MutexLock lock(mutex_);
  return instances_[static_cast<size_t>(id)].until;
}

bool Scheduler::IsNotified(InstanceId id) const {
  MutexLock lock(mutex_);
  const InstanceRecord& instance = instances_[static_cast<size_t>(id)];
  return instance.wake.HasMovedOn(instance.key);
}

int32_t Scheduler::NotifyAtRows() const {
  const uint64_t word = notify_.load(std::memory_order_seq_cst);
  return word == 0 ? Wait::kNoRows : RowsOf(word);
}

bool Scheduler::IsIdle() const {
  return admission_.requests() == 0 && pool_.under_way() == 0;
}

}  // namespace ferry
