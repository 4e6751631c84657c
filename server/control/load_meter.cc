// Implements LoadMeter: keeps counts of a minute, and divides.
#include "server/control/load_meter.h"

#include <algorithm>
#include <cmath>

namespace ferry {

ArrivalRates LoadMeter::Add(TimePoint now, const LoadCounts& counts) {
  if (counts_.empty() || now - counts_.back().at >= kLeast) {
    counts_.push_back({now, counts});
    while (counts_.size() > 1 && now - counts_[1].at >= kMinute) {
      counts_.pop_front();
    }
  }
  const BatchTotals& last = counts_.back().of.served;
  const BatchTotals& first = Before(kMinute).of.served;
  if (last.batches > first.batches) {
    rows_per_batch_ = static_cast<double>(last.rows - first.rows) /
                      static_cast<double>(last.batches - first.batches);
  }
  return {.last_minute = RateOver(kMinute),
          .last_5s = RateOver(kShort),
          .rows_per_batch = rows_per_batch_};
}

const LoadMeter::Count& LoadMeter::Before(Duration window) const {
  const TimePoint last = counts_.back().at;
  const auto found = std::find_if(
      counts_.rbegin(), counts_.rend(),
      [&](const Count& count) { return last - count.at >= window; });
  return found == counts_.rend() ? counts_.front() : *found;
}

double LoadMeter::RateOver(Duration window) const {
  const Count& last = counts_.back();
  const Count& first = Before(window);
  const std::chrono::duration<double> passed = last.at - first.at;
  return passed.count() > 0 ? static_cast<double>(last.of.arrived_rows -
                                                  first.of.arrived_rows) /
                                  passed.count()
                            : kUnknown;
}

double CapacityOf(const SchedulerStatistics& counted, int32_t max_batch_size,
                  bool has_own_batches, double rows_per_batch,
                  int64_t instances) {
  double rows = std::max(max_batch_size, 1);
  auto took_ns = static_cast<double>(counted.full_batch_time.count());
  if (has_own_batches && std::isfinite(rows_per_batch)) {
    const ServiceTimeLine& line = counted.service_time;
    rows = rows_per_batch;
    took_ns = line.alpha_ns + line.beta_ns * rows;
  }
  return took_ns > 0 ? rows * static_cast<double>(instances) * 1e9 / took_ns
                     : kUnknown;
}

}  // namespace ferry
