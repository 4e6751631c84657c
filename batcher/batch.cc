// Implements Batch: adds requests, counts what was served, answers requests.
#include "batcher/batch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "batcher/internal/split_request.h"

namespace ferry {

void BatchRecycler::operator()(Batch* batch) const {
  batch->Clear();
  batch->pool_->Put(*batch);
}

void Deliver(BatchPtr batch, TimePoint reply_until) {
  BatchPool& pool = *batch->pool_;
  batch->reply_until_ = pool.preserves_order() ? TimePoint() : reply_until;
  pool.Deliver(std::move(batch));
}

Batch::Batch(int32_t max_requests, int32_t max_rows, BatchPool* pool)
    : pool_(pool),
      own_statistics_(std::make_unique<BatchStatistics>(max_rows)),
      statistics_(*own_statistics_) {
  entries_.reserve(static_cast<size_t>(max_requests));
}

Batch::Batch(BatchStatistics& statistics, size_t max_requests)
    : pool_(nullptr), statistics_(statistics) {
  entries_.reserve(max_requests);
}

std::unique_ptr<Batch> Batch::Rerun(size_t first, size_t count) const {
  std::unique_ptr<Batch> rerun(new Batch(statistics_, count));
  for (const Entry& entry : entries().subspan(first, count)) {
    rerun->Add(*entry.request);
  }
  rerun->closed_ = closed_;
  rerun->sequence_ = sequence_;
  statistics_.reruns.Add(1);
  return rerun;
}

void Batch::Add(InferRequest& request) {
  Check(entries_.size() < entries_.capacity(), "the batch has room");
  entries_.push_back({.request = &request,
                      .arrival = request.arrival,
                      .due = request.due,
                      .first_row = rows_,
                      .rows = request.rows,
                      .level = request.level});
  rows_ += request.rows;
  bytes_ += request.bytes;
  shape_key_ = request.shape_key;
}

void Batch::Close(TimePoint now, CloseReason reason, int64_t sequence) {
  Check(!entries_.empty(), "a closed batch holds requests");
  closed_ = now;
  sequence_ = sequence;
  times_ = {.compute_begin = now, .compute_end = now};
  outcome_ = {absl::StatusCode::kInternal, "instance gave no result"};
  statistics_.closed_batches[static_cast<size_t>(reason)].Add(1);
}

void Batch::SetResult(Outcome outcome, OutputRef output) {
  Check(outcome.ok() == static_cast<bool>(output),
        "a batch has outputs exactly when its outcome is ok");
  outcome_ = outcome;
  output_ = std::move(output);
}

void Batch::Deliver(const Clock& clock) {
  if (!reruns_.empty()) {
    for (const std::unique_ptr<Batch>& rerun : std::exchange(reruns_, {})) {
      rerun->reply_until_ = reply_until_;
      rerun->Deliver(clock);
    }
    return;
  }
  // It counts before it tells: a client that has a reply finds it counted.
  if (outcome_.ok()) {
    CountBatch();
  }
  TimePoint now = clock.Now();
  for (Entry& entry : entries_) {
    InferRequest& request = *std::exchange(entry.request, nullptr);
    std::optional<RequestResult> result = JoinResult(
        request,
        {outcome_,
         outcome_.ok() ? OutputRows{output_.get(), entry.first_row, entry.rows}
                       : OutputRows{},
         times_.compute() * entry.rows / rows_});
    if (result.has_value()) {
      CountRequest(entry, *result, now);
      if (request.part_of != nullptr && result->outcome.ok()) {
        statistics_.ok_rows.Add(static_cast<uint64_t>(result->rows.count));
      }
      result->has_time = now < reply_until_;
      result->batch = this;
      Respond(request, *result);
    }
    now = clock.Now();
  }
  if (outcome_.ok()) {
    statistics_.by_rows[static_cast<size_t>(rows_)].deliver_ns.Add(
        ElapsedNanos(now - times_.compute_end));
  }
  output_ = OutputRef();
}

void Batch::Clear() {
  entries_.clear();
  rows_ = 0;
  bytes_ = 0;
}

void Batch::CountBatch() {
  const uint64_t stage = ElapsedNanos(times_.compute_begin - closed_);
  const uint64_t compute = ElapsedNanos(times_.compute());
  statistics_.stage.Record(stage);
  statistics_.compute.Record(compute);
  statistics_.stage_ns_of_requests.Add(stage * entries_.size());
  statistics_.compute_ns_of_requests.Add(compute * entries_.size());
  BatchSizeStatistics& size = statistics_.by_rows[static_cast<size_t>(rows_)];
  size.batches.Add(1);
  size.stage_ns.Add(stage);
  size.compute_ns.Add(compute);
  // All at once, as the batch: a reader between two replies finds both. The
  // rows of a split request count when it is joined.
  int32_t whole_rows = 0;
  for (const Entry& entry : entries_) {
    whole_rows += entry.request->part_of == nullptr ? entry.rows : 0;
  }
  statistics_.ok_rows.Add(static_cast<uint64_t>(whole_rows));
  CountPadding();
}

// Where no input is padded this looks at one request alone.
void Batch::CountPadding() {
  const auto count = [](absl::Span<const int64_t> row_dims, int32_t rows) {
    return static_cast<uint64_t>(ElementCount(row_dims).value_or(0)) *
           static_cast<uint64_t>(rows);
  };
  const absl::Span<const TensorView> first = entries_.front().request->inputs;
  for (size_t input = 0; input < first.size(); ++input) {
    if (first[input].padded_dims.empty()) {
      continue;  // nor are those of the others
    }
    uint64_t came = 0;
    for (const Entry& entry : entries_) {
      came += count(entry.request->inputs[input].dims, entry.rows);
    }
    statistics_.input_elements.Add(came);
    statistics_.padding_elements.Add(count(row_dims(input), rows_) - came);
  }
}

void Batch::CountRequest(const Entry& entry, const RequestResult& result,
                         TimePoint now) {
  const uint64_t request_time = ElapsedNanos(now - entry.arrival);
  if (!result.outcome.ok()) {
    statistics_.failed_requests[static_cast<size_t>(result.outcome.code)].Add(
        1);
    statistics_.failed_ns.Add(request_time);
    return;
  }
  statistics_.queue_wait.Record(ElapsedNanos(closed_ - entry.arrival));
  statistics_.deliver.Record(ElapsedNanos(now - times_.compute_end));
  statistics_.request_time.Record(request_time);
  statistics_.late_requests.Add(now > entry.due ? 1 : 0);
}

// --- the pool ----------------------------------------------------------------

BatchPool::BatchPool(const Options& options,
                     std::function<void(InstanceId)> on_batch)
    : clock_(*options.clock),
      on_batch_(std::move(on_batch)),
      preserve_ordering_(options.preserve_ordering),
      parked_(static_cast<size_t>(options.batches)) {
  for (int32_t i = 0; i < options.batches; ++i) {
    all_.push_back(
        std::make_unique<Batch>(options.max_requests, options.max_rows, this));
  }
  MutexLock lock(mutex_);
  for (const std::unique_ptr<Batch>& batch : all_) {
    free_.push_back(batch.get());
  }
}

BatchPool::~BatchPool() {
  MutexLock lock(mutex_);
  Check(free_.size() == all_.size(),
        "every batch is back before its pool ends");
}

BatchPtr BatchPool::Take(InstanceId id) {
  MutexLock lock(mutex_);
  if (free_.empty()) {
    if (std::find(waiting_.begin(), waiting_.end(), id) == waiting_.end()) {
      waiting_.push_back(id);
    }
    return nullptr;
  }
  Batch* const batch = free_.back();
  free_.pop_back();
  return BatchPtr(batch);
}

void BatchPool::Put(Batch& batch) {
  std::vector<InstanceId> waiting;
  {
    MutexLock lock(mutex_);
    free_.push_back(&batch);
    waiting.swap(waiting_);
    changed_.SignalAll();
  }
  for (const InstanceId id : waiting) {
    on_batch_(id);
  }
}

void BatchPool::Deliver(BatchPtr batch) {
  if (!preserve_ordering_) {
    batch->Deliver(clock_);
    return;
  }
  {
    MutexLock lock(mutex_);
    BatchPtr& place = ParkedAt(batch->sequence());
    Check(place == nullptr, "no more batches are under way than the pool has");
    place = std::move(batch);
    if (is_delivering_) {
      return;
    }
    is_delivering_ = true;
  }
  for (;;) {
    BatchPtr next;
    {
      MutexLock lock(mutex_);
      next = std::move(ParkedAt(next_));
      if (next == nullptr) {
        is_delivering_ = false;
        return;
      }
      ++next_;
    }
    next->Deliver(clock_);
  }
}

void BatchPool::BeginAnswers() {
  MutexLock lock(mutex_);
  ++answering_;
}

void BatchPool::EndAnswers() {
  MutexLock lock(mutex_);
  --answering_;
  changed_.SignalAll();
}

void BatchPool::QueueChanged() {
  MutexLock lock(mutex_);
  changed_.SignalAll();
}

bool BatchPool::WaitUntilIdle(TimePoint until,
                              absl::FunctionRef<bool()> is_empty) {
  MutexLock lock(mutex_);
  for (;;) {
    // A batch is taken before its requests leave the queue, so the queue is
    // asked last. The answer counts as it comes: a producer that is refused
    // counts for a moment as if it were queued.
    if (free_.size() == all_.size() && answering_ == 0 && is_empty()) {
      return true;
    }
    if (clock_.Now() >= until) {
      return false;
    }
    changed_.WaitUntil(mutex_, until);
  }
}

int32_t BatchPool::under_way() const {
  MutexLock lock(mutex_);
  return static_cast<int32_t>(all_.size() - free_.size());
}

}  // namespace ferry
