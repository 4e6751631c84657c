// The doors to the batcher. Who steps when: batcher_thread.cc; a step:
// batcher_step.cc; who is not let in: batcher_refusal.cc.
#include "batcher/batcher.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "batcher/check.h"

namespace ferry {
namespace {

// Upper bounds far beyond use, so that a slip of the pen does not become an
// allocation of gigabytes at start.
constexpr int64_t kMaxBatchSize = 1 << 20;  // rows
constexpr int64_t kMaxQueueRequests = 1 << 24;
constexpr int64_t kMaxQueueRows = 1 << 26;
constexpr int64_t kMaxQueueBytes = int64_t{1} << 46;
constexpr int64_t kMaxUndelivered = 1 << 10;  // batches

absl::Status CheckRange(const char* name, int64_t value, int64_t max) {
  return value >= 1 && value <= max
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(name, ": expected 1 to ",
                                                       max, ", got ", value));
}

absl::Status CheckKnobs(const Knobs& knobs, int64_t max_batch_size) {
  absl::Status status =
      CheckRange("max_batch_size", knobs.max_batch_size, max_batch_size);
  status.Update(
      CheckRange("queue.requests", knobs.queue.requests, kMaxQueueRequests));
  status.Update(CheckRange("queue.rows", knobs.queue.rows, kMaxQueueRows));
  status.Update(CheckRange("queue.bytes", knobs.queue.bytes, kMaxQueueBytes));
  if (knobs.max_wait < Duration(0)) {
    status.Update(absl::InvalidArgumentError(
        "max_wait: expected at least 0, got a negative time"));
  }
  return status;
}

absl::Status CheckOptions(const BatcherOptions& options) {
  absl::Status status = CheckKnobs({.max_batch_size = options.max_batch_size,
                                    .policy = options.policy,
                                    .max_wait = options.max_wait,
                                    .queue = options.queue},
                                   kMaxBatchSize);
  status.Update(CheckRange("max_requests_per_batch",
                           options.max_requests_per_batch,
                           std::numeric_limits<int32_t>::max()));
  status.Update(CheckRange("max_undelivered_batches",
                           options.max_undelivered_batches, kMaxUndelivered));
  status.Update(CheckRange("levels", std::ssize(options.levels), kMaxLevels));
  if (options.enough_rows < 0) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "enough_rows: expected at least 0, got ", options.enough_rows)));
  }
  const std::vector<int32_t>& buckets = options.buckets;
  const auto out_of_order = std::adjacent_find(buckets.begin(), buckets.end(),
                                               std::greater_equal<int32_t>());
  if (!buckets.empty() &&
      (out_of_order != buckets.end() || buckets.front() < 1 ||
       buckets.back() != options.max_batch_size)) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "buckets: expected ascending numbers of rows, the last of "
        "them max_batch_size, ",
        options.max_batch_size, ", got ", absl::StrJoin(buckets, ","))));
  }
  const bool delays =
      std::any_of(options.levels.begin(), options.levels.end(),
                  [](const LevelOptions& level) { return level.delays_late; });
  if (options.preserve_ordering && delays) {
    status.Update(absl::InvalidArgumentError(
        "preserve_ordering: expected no level that delays with it"));
  }
  if (options.preserve_ordering && options.levels.size() > 1) {
    status.Update(absl::InvalidArgumentError(
        "preserve_ordering: expected one level of priority with it, got "
        "several"));
  }
  if (options.stepping == Stepping::kOnTheSpot &&
      options.clock != &Clock::Steady()) {
    status.Update(absl::InvalidArgumentError(
        "clock: expected Clock::Steady() for a batcher with its own thread"));
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
      admission_(options.queue, static_cast<int32_t>(options.levels.size())),
      policy_(options.policy),
      max_batch_size_(options.max_batch_size),
      max_wait_nanos_(options.max_wait.count()),
      free_slots_(backend->slots()),
      order_(FormerOptions(*backend).max_batches),
      join_budget_(std::make_shared<JoinBudget>(options.queue.bytes)),
      former_(FormerOptions(*backend)),
      answered_(options.max_batch_size),
      lane_busy_ns_(static_cast<size_t>(backend->lanes())),
      backend_(std::move(backend)) {
  for (int32_t i = 0; i < former_.options().max_batches; ++i) {
    batches_.push_back(
        std::make_unique<Batch>(MaxRequests(), options_.max_batch_size));
    all_batches_.push_back(batches_.back().get());
  }
  for (size_t level = 0; level < options_.levels.size(); ++level) {
    admission_.SetLevelBound(static_cast<int32_t>(level),
                             options_.levels[level].max_requests);
  }
  for (const ServiceTimeSample& sample : backend_->warm_up_samples()) {
    if (sample.rows <= options_.max_batch_size) {
      Learn(sample, /*shape_key=*/0);
    }
  }
  if (options_.stepping == Stepping::kOnTheSpot) {
    thread_ = std::thread([this] { Run(); });
  }
}

BatchFormer::Options Batcher::FormerOptions(const Backend& backend) const {
  return {.max_batch_size = options_.max_batch_size,
          .max_requests_per_batch = options_.max_requests_per_batch,
          .max_queued_requests = options_.queue.requests,
          .levels = static_cast<int32_t>(options_.levels.size()),
          .lanes = backend.lanes(),
          .slots = backend.slots(),
          .starts_only_full_ahead = backend.starts_only_full_ahead(),
          .max_batches = backend.slots() + options_.max_undelivered_batches,
          .preserve_ordering = options_.preserve_ordering,
          .enough_rows = options_.enough_rows,
          .buckets = options_.buckets};
}

Batcher::~Batcher() {
  BeginDrain();
  give_up_queued_.store(true, std::memory_order_seq_cst);
  if (thread_.joinable()) {
    AskForStep();
    IsDrainedBy(kNever);
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
  bool is_untold = false;
  const absl::Status status = Submit(request, is_untold);
  if (is_untold) {
    Serve();
  }
  return status;
}

absl::Status Batcher::Submit(InferRequest& request, bool& is_untold) {
  Check(request.rows >= 1 && request.completion != nullptr,
        "a request has rows and a completion");
  Check(request.level >= 0 && request.level < std::ssize(options_.levels),
        "a request's level is one of the batcher's");
  Stamp(request);
  const int32_t max_part_rows = max_batch_size_.load(std::memory_order_relaxed);
  const int32_t parts = SplitRequest::PartsOf(request.rows, max_part_rows);
  if (request.rows > MaxRequestRows(request.level) ||
      static_cast<int64_t>(request.bytes) > admission_.bounds().bytes) {
    return Refuse(Refusal::kTooLarge, request);
  }
  if (broken()) {
    return Refuse(Refusal::kBroken, request);
  }
  if (request.due <= request.arrival) {
    return Refuse(Refusal::kExpired, request);
  }
  const bool would_miss = WouldMiss(request);
  request.is_trial =
      would_miss && wait_forecast_.IsTrial(request.shape_key, request.arrival);
  if (would_miss && !request.is_trial) {
    return Refuse(Refusal::kWouldMiss, request);
  }
  const Admission::Verdict verdict =
      admission_.TryAdmit(request.level, parts, request.rows, request.bytes);
  if (verdict != Admission::Verdict::kAdmitted) {
    if (admission_.closed()) {
      AskForStep();  // it may have seen us counted, and not be drained
    }
    return Refuse(RefusalFor(verdict), request);
  }
  last_arrival_nanos_.store(ToNanos(request.arrival),
                            std::memory_order_relaxed);
  if (parts > 1) {
    request.split = new SplitRequest(request, max_part_rows, join_budget_);
    Stamp(request);  // cutting took time, in which others may have arrived
    request.split->Stamp();
  }
  request.TakeFirstHolds();
  const TimePoint due = request.due;
  const uint64_t shape_key = request.shape_key;
  Push(request);  // from now on the stepper's
  if (IsNews(due, shape_key)) {
    if (IsForInline()) {
      is_untold = true;
    } else {
      Serve();
    }
  }
  if (request.cancelled.load(std::memory_order_seq_cst)) {
    CancelParts(request);
    AskForStep();  // Cancel() may have come and been taken before the push
  }
  request.GiveBackHold();  // now it may have been released
  return absl::OkStatus();
}

void Batcher::Stamp(InferRequest& request) {
  request.arrival = clock_.Now();
  request.due = DueOf(request);
}

void Batcher::Push(InferRequest& request) {
  if (request.split == nullptr) {
    pushed_.Push(request);
    return;
  }
  for (SplitRequest::Part& part : request.split->parts()) {
    pushed_.Push(part);
  }
}

void Batcher::Cancel(InferRequest& request) {
  if (request.cancelled.exchange(true, std::memory_order_seq_cst)) {
    return;
  }
  // No hold: Submit() has not pushed it yet, and TakePushed() will see the
  // flag; or it has ended.
  if (!request.TryHold()) {
    return;
  }
  if (request.split != nullptr) {
    CancelParts(request);
    request.GiveBackHold();
  } else {
    cancelled_.Push(request);
    AskForStep();
  }
}

// REQUIRES: a hold, which keeps the parts.
void Batcher::CancelParts(InferRequest& request) {
  if (request.split != nullptr) {
    for (SplitRequest::Part& part : request.split->parts()) {
      Cancel(part);
    }
  }
}

void Batcher::BeginDrain() {
  admission_.Close();
  AskForStep();
}

absl::Status Batcher::Drain(TimePoint until) {
  Check(options_.stepping == Stepping::kOnTheSpot,
        "Drain() waits for steps that others do");
  BeginDrain();
  if (IsDrainedBy(until)) {
    return absl::OkStatus();
  }
  give_up_queued_.store(true, std::memory_order_seq_cst);
  AskForStep();
  return absl::DeadlineExceededError(
      "not everything admitted was answered in time");
}

bool Batcher::IsDrainedBy(TimePoint until) {
  MutexLock lock(drain_mutex_);
  while (!drained_ && clock_.Now() < until) {
    drained_changed_.WaitUntil(drain_mutex_, until);
  }
  return drained_;
}

// --- events of the backend -------------------------------------------------

void Batcher::Staged(Batch& batch) { admission_.ReleaseBytes(batch.bytes()); }

void Batcher::ComputeEnded(Batch& batch) {
  const Batch::Times& times = batch.times();
  lane_busy_ns_[static_cast<size_t>(batch.lane())].Add(
      ElapsedNanos(times.compute_end - times.compute_begin));
  batch.NoteComputeEnd();
  compute_ends_.fetch_add(1, std::memory_order_seq_cst);
  if (wants_lane_.load(std::memory_order_seq_cst)) {
    AskForStep();
  }
}

void Batcher::SlotFree() {
  free_slots_.fetch_add(1, std::memory_order_seq_cst);
  if (SlotAwaitsRows()) {
    AskForStep();
  }
}

void Batcher::Finished(std::unique_ptr<Batch> batch) {
  if (options_.preserve_ordering) {
    order_.Finished(std::move(batch), [this](std::unique_ptr<Batch> next) {
      Resolve(std::move(next));
    });
  } else {
    Resolve(std::move(batch));
  }
}

void Batcher::Resolve(std::unique_ptr<Batch> batch) {
  batch->Resolve(clock_, options_.burst);
  finished_.Push(*batch.release());
  if (wants_batch_.load(std::memory_order_seq_cst) || admission_.closed()) {
    AskForStep();
  }
}

void Batcher::Broken(Outcome) {
  broken_.store(true, std::memory_order_seq_cst);
  BeginDrain();
}

Knobs Batcher::knobs() const {
  return {.max_batch_size = max_batch_size_.load(std::memory_order_relaxed),
          .policy = policy_.load(std::memory_order_relaxed),
          .max_wait = Duration(max_wait_nanos_.load(std::memory_order_relaxed)),
          .queue = admission_.bounds()};
}

absl::Status Batcher::SetKnobs(const Knobs& knobs) {
  if (absl::Status status = CheckKnobs(knobs, options_.max_batch_size);
      !status.ok()) {
    return status;
  }
  max_batch_size_.store(knobs.max_batch_size, std::memory_order_relaxed);
  policy_.store(knobs.policy, std::memory_order_relaxed);
  max_wait_nanos_.store(knobs.max_wait.count(), std::memory_order_relaxed);
  admission_.SetBounds(knobs.queue);
  knobs_changed_.store(true, std::memory_order_seq_cst);
  AskForStep();
  return absl::OkStatus();
}

BatcherStatistics Batcher::Snapshot() const {
  BatcherStatistics result(options_.max_batch_size);
  answered_.MergeInto(result.served);
  for (const Batch* batch : all_batches_) {
    batch->statistics().MergeInto(result.served);
    result.running_batches += batch->running() ? 1 : 0;
    result.oldest_on_lane =
        std::min(result.oldest_on_lane, batch->on_lane_since());
  }
  result.padding_rows = PaddingRows(result.served.by_rows, options_.buckets);
  for (size_t i = 0; i < refused_.size(); ++i) {
    result.refused[i] = refused_[i].load(std::memory_order_relaxed);
  }
  for (const Counter& busy : lane_busy_ns_) {
    result.busy.push_back(Duration(static_cast<int64_t>(busy.value())));
  }
  result.service_time = {.alpha_ns = alpha_ns_.load(std::memory_order_relaxed),
                         .beta_ns = beta_ns_.load(std::memory_order_relaxed)};
  result.service_time_drifts = service_time_drifts_.value();
  result.queued_requests = admission_.requests();
  result.queued_rows = admission_.rows();
  result.queued_bytes = admission_.bytes();
  result.last_arrival =
      FromNanos(last_arrival_nanos_.load(std::memory_order_relaxed));
  return result;
}

}  // namespace ferry
