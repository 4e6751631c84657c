// Batch: filling, counting and ending its requests.
#include "batcher/batch.h"

#include <utility>

#include "batcher/check.h"

namespace ferry {
namespace {

uint64_t Nanos(Duration duration) {
  return static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0));
}

}  // namespace

Batch::Batch(int32_t max_requests, int32_t max_rows) : statistics_(max_rows) {
  entries_.reserve(static_cast<size_t>(max_requests));
}

void Batch::Add(InferRequest& request) {
  Check(entries_.size() < entries_.capacity(), "the batch has room");
  entries_.push_back({&request, request.arrival, rows_, request.rows});
  rows_ += request.rows;
  bytes_ += request.bytes;
}

void Batch::Close(TimePoint now, CloseReason reason) {
  Check(!entries_.empty(), "a closed batch holds requests");
  // A backend that fails before it computes leaves these as they are.
  times_ = {.closed = now, .compute_begin = now, .compute_end = now};
  outcome_ = {absl::StatusCode::kInternal, "backend gave no result"};
  statistics_.closed_batches[static_cast<size_t>(reason)].Add(1);
}

void Batch::SetResult(Outcome outcome, OutputRef output) {
  Check(outcome.ok() == static_cast<bool>(output),
        "a batch has outputs exactly when its outcome is ok");
  outcome_ = outcome;
  output_ = std::move(output);
}

void Batch::Resolve(const Clock& clock) {
  const TimePoint resolved = clock.Now();
  // Counted before anybody is told: who has a reply finds it in the statistics.
  if (outcome_.ok()) {
    CountSuccess(resolved);
  } else {
    CountFailure(resolved);
  }
  for (Entry& entry : entries_) {
    const OutputRows rows{output_.get(), entry.first_row, entry.rows};
    std::exchange(entry.request, nullptr)
        ->End(outcome_, outcome_.ok() ? rows : OutputRows{});
  }
  output_ = OutputRef();
}

void Batch::Clear() {
  entries_.clear();
  rows_ = 0;
  bytes_ = 0;
  lane_ = 0;
}

void Batch::CountSuccess(TimePoint now) {
  const uint64_t stage = Nanos(times_.compute_begin - times_.closed);
  const uint64_t compute = Nanos(times_.compute_end - times_.compute_begin);
  const uint64_t deliver = Nanos(now - times_.compute_end);
  statistics_.stage.Record(stage);
  statistics_.compute.Record(compute);
  statistics_.deliver.Record(deliver);
  for (const Entry& entry : entries_) {
    statistics_.queue_wait.Record(Nanos(times_.closed - entry.arrival));
    statistics_.request_time.Record(Nanos(now - entry.arrival));
  }
  const uint64_t requests = entries_.size();
  statistics_.ok_requests.Add(requests);
  statistics_.ok_rows.Add(static_cast<uint64_t>(rows_));
  statistics_.stage_ns_of_requests.Add(stage * requests);
  statistics_.compute_ns_of_requests.Add(compute * requests);
  statistics_.deliver_ns_of_requests.Add(deliver * requests);
  BatchSizeStatistics& size = statistics_.by_rows[static_cast<size_t>(rows_)];
  size.batches.Add(1);
  size.stage_ns.Add(stage);
  size.compute_ns.Add(compute);
  size.deliver_ns.Add(deliver);
}

void Batch::CountFailure(TimePoint now) {
  const auto code = static_cast<size_t>(outcome_.code);
  statistics_.failed_requests[code].Add(entries_.size());
  for (const Entry& entry : entries_) {
    statistics_.failed_ns.Add(Nanos(now - entry.arrival));
  }
}

}  // namespace ferry
