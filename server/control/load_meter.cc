// Implements LoadMeter: keeps counts of a minute, and divides.
#include "server/control/load_meter.h"

#include <algorithm>

namespace ferry {

ArrivalRates LoadMeter::Add(TimePoint now, uint64_t rows) {
  if (counts_.empty() || now - counts_.back().at >= kLeast) {
    counts_.push_back({now, rows});
    while (counts_.size() > 1 && now - counts_[1].at >= kMinute) {
      counts_.pop_front();
    }
  }
  return {.last_minute = RateOver(kMinute), .last_5s = RateOver(kShort)};
}

double LoadMeter::RateOver(Duration window) const {
  const Count& last = counts_.back();
  Count first = counts_.front();
  for (const Count& count : counts_) {
    if (last.at - count.at >= window) {
      first = count;
    }
  }
  const std::chrono::duration<double> passed = last.at - first.at;
  return passed.count() > 0
             ? static_cast<double>(last.rows - first.rows) / passed.count()
             : kUnknown;
}

double CapacityOf(const ServiceTimeLine& line, double rows, int64_t instances) {
  const double took_ns = line.alpha_ns + line.beta_ns * rows;
  return took_ns > 0 ? rows * static_cast<double>(instances) * 1e9 / took_ns
                     : kUnknown;
}

double FullBatchRows(const BatchStatistics& served, int32_t max_batch_size,
                     int32_t max_requests_per_batch) {
  uint64_t batches = 0;
  uint64_t rows = 0;
  for (size_t size = 0; size < served.by_rows.size(); ++size) {
    const uint64_t of_size = served.by_rows[size].batches.value();
    batches += of_size;
    rows += of_size * size;
  }
  return max_requests_per_batch > 1 || batches == 0
             ? std::max(max_batch_size, 1)
             : static_cast<double>(rows) / static_cast<double>(batches);
}

}  // namespace ferry
