// Implements Batch: adds requests, counts what was served, answers requests.
#include "batcher/batch.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "batcher/batch_pool.h"
#include "batcher/split_request.h"

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
    : pool_(pool), statistics_(max_rows) {
  entries_.reserve(static_cast<size_t>(max_requests));
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
  // It counts before it tells: a client that has a reply finds it counted.
  if (outcome_.ok()) {
    CountBatch();
  }
  TimePoint now = clock.Now();
  for (Entry& entry : entries_) {
    InferRequest& request = *std::exchange(entry.request, nullptr);
    const bool is_part = request.part_of != nullptr;
    std::optional<RequestResult> result = JoinResult(
        request,
        {outcome_, outcome_.ok()
                       ? OutputRows{output_.get(), entry.first_row, entry.rows}
                       : OutputRows{}});
    if (result.has_value()) {
      CountRequest(entry, *result, now);
      if (is_part && result->outcome.ok()) {
        statistics_.ok_rows.Add(static_cast<uint64_t>(result->rows.count));
      }
      result->has_time = now < reply_until_;
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
  const uint64_t compute =
      ElapsedNanos(times_.compute_end - times_.compute_begin);
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

}  // namespace ferry
