// Implements statistics: sums those of batches and counts padding rows.
#include "batcher/statistics.h"

#include "batcher/batch_buckets.h"

namespace ferry {
namespace {

template <typename Counters>
void AddAll(const Counters& from, Counters& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    to[i].Add(from[i].value());
  }
}

}  // namespace

void BatchStatistics::MergeInto(BatchStatistics& sum) const {
  sum.ok_rows.Add(ok_rows.value());
  sum.input_elements.Add(input_elements.value());
  sum.padding_elements.Add(padding_elements.value());
  AddAll(failed_requests, sum.failed_requests);
  sum.reruns.Add(reruns.value());
  sum.dropped_requests.Add(dropped_requests.value());
  sum.late_requests.Add(late_requests.value());
  sum.failed_ns.Add(failed_ns.value());
  AddAll(closed_batches, sum.closed_batches);
  sum.queue_wait.Merge(queue_wait);
  sum.request_time.Merge(request_time);
  sum.stage.Merge(stage);
  sum.compute.Merge(compute);
  sum.deliver.Merge(deliver);
  sum.stage_ns_of_requests.Add(stage_ns_of_requests.value());
  sum.compute_ns_of_requests.Add(compute_ns_of_requests.value());
  for (size_t rows = 0; rows < by_rows.size(); ++rows) {
    sum.by_rows[rows].batches.Add(by_rows[rows].batches.value());
    sum.by_rows[rows].stage_ns.Add(by_rows[rows].stage_ns.value());
    sum.by_rows[rows].compute_ns.Add(by_rows[rows].compute_ns.value());
    sum.by_rows[rows].deliver_ns.Add(by_rows[rows].deliver_ns.value());
  }
}

uint64_t PaddingRows(absl::Span<const BatchSizeStatistics> by_rows,
                     absl::Span<const int32_t> buckets) {
  uint64_t padding_rows = 0;
  for (size_t size = 1; size < by_rows.size(); ++size) {
    const auto rows = static_cast<int32_t>(size);
    padding_rows += by_rows[size].batches.value() *
                    static_cast<uint64_t>(PaddedRows(buckets, rows) - rows);
  }
  return padding_rows;
}

const char* RefusalName(Refusal reason) {
  constexpr const char* kNames[kRefusalCount] = {
      "too_large", "queue_requests", "queue_level", "queue_rows", "queue_bytes",
      "expired",   "would_miss",     "draining",    "broken"};
  return kNames[static_cast<size_t>(reason)];
}

}  // namespace ferry
