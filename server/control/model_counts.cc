// Implements Add, which makes room where more was counted than before.
#include "server/control/model_counts.h"

#include <algorithm>
#include <cstring>

namespace ferry {
namespace {

void AddEvents(const std::vector<DeviceCount>& more,
               std::vector<DeviceCount>& sum) {
  for (const DeviceCount& one : more) {
    const auto known =
        std::find_if(sum.begin(), sum.end(), [&](const DeviceCount& other) {
          return std::strcmp(one.event, other.event) == 0;
        });
    if (known == sum.end()) {
      sum.push_back(one);
    } else {
      known->count += one.count;
    }
  }
}

}  // namespace

uint64_t RefusedRequests(const ModelCounts& counts) {
  uint64_t sum =
      counts.invalid_requests + counts.client_refusals + counts.memory_refusals;
  for (const uint64_t refused : counts.counted.refused) {
    sum += refused;
  }
  return sum;
}

uint64_t FailedRequests(const BatchStatistics& served) {
  uint64_t sum = 0;
  for (const Counter& failed : served.failed_requests) {
    sum += failed.value();
  }
  return sum;
}

BatchTotals TotalsOf(const BatchStatistics& served) {
  BatchTotals totals;
  for (size_t rows = 0; rows < served.by_rows.size(); ++rows) {
    const uint64_t batches = served.by_rows[rows].batches.value();
    totals.batches += batches;
    totals.rows += batches * rows;
  }
  return totals;
}

void Add(const ModelCounts& more, ModelCounts& sum) {
  const SchedulerStatistics& from = more.counted;
  SchedulerStatistics& to = sum.counted;
  auto& by_rows = to.served.by_rows;
  by_rows.resize(std::max(by_rows.size(), from.served.by_rows.size()));
  from.served.MergeInto(to.served);
  to.padding_rows += from.padding_rows;
  for (size_t i = 0; i < from.refused.size(); ++i) {
    to.refused[i] += from.refused[i];
  }
  to.busy.resize(std::max(to.busy.size(), from.busy.size()));
  for (size_t i = 0; i < from.busy.size(); ++i) {
    to.busy[i] += from.busy[i];
  }
  to.service_time_drifts += from.service_time_drifts;
  to.last_arrival = std::max(to.last_arrival, from.last_arrival);
  sum.invalid_requests += more.invalid_requests;
  sum.client_refusals += more.client_refusals;
  sum.memory_refusals += more.memory_refusals;
  sum.arrived_rows += more.arrived_rows;
  sum.received_bytes += more.received_bytes;
  sum.sent_bytes += more.sent_bytes;
  sum.overdue_batches += more.overdue_batches;
  sum.precision_changes += more.precision_changes;
  AddEvents(more.device_events, sum.device_events);
}

}  // namespace ferry
