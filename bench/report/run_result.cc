// Implements Summarize(): histograms to the few numbers that reports carry.
#include "bench/report/run_result.h"

#include <chrono>

#include "absl/strings/str_format.h"

namespace ferry::bench {
namespace {

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

std::map<std::string, uint64_t> ErrorsOf(
    const std::array<uint64_t, kCodeCount>& ended) {
  std::map<std::string, uint64_t> errors;
  for (size_t code = 1; code < kCodeCount; ++code) {
    if (ended[code] > 0) {
      errors[CodeName(code)] = ended[code];
    }
  }
  return errors;
}

std::vector<SliceSummary> Series(const LoadResult& load) {
  std::vector<SliceSummary> series;
  const double slice_s = std::chrono::duration<double>(load.slice).count();
  for (const LoadSlice& slice : load.slices) {
    series.push_back(
        {.end_s = static_cast<double>(series.size() + 1) * slice_s,
         .planned = slice.planned,
         .failed = slice.failed,
         .p50_us = Microseconds(slice.latency.Quantile(0.5)),
         .p99_us = Microseconds(slice.latency.Quantile(0.99)),
         .lag_p50_us = Microseconds(slice.send_lag.Quantile(0.5)),
         .lag_p99_us = Microseconds(slice.send_lag.Quantile(0.99))});
  }
  return series;
}

}  // namespace

LatencySummary Summarize(const LatencyHistogram& histogram) {
  LatencySummary summary;
  summary.p50_us = Microseconds(histogram.Quantile(0.5));
  summary.p90_us = Microseconds(histogram.Quantile(0.9));
  summary.p95_us = Microseconds(histogram.Quantile(0.95));
  summary.p99_us = Microseconds(histogram.Quantile(0.99));
  summary.p999_us = Microseconds(histogram.Quantile(0.999));
  summary.p9999_us = Microseconds(histogram.Quantile(0.9999));
  summary.max_us = Microseconds(histogram.max());
  summary.mean_us = histogram.mean() / 1e3;
  return summary;
}

std::string DescribeBound(const SearchSummary& search) {
  std::string bound =
      absl::StrFormat("p%g <= %g ms", search.percentile, search.slo_ms);
  if (search.success > 0) {
    absl::StrAppendFormat(&bound, " with %g %% successes", search.success);
  }
  return bound;
}

uint64_t PointResult::error_count() const {
  uint64_t count = 0;
  for (const auto& [code, errors_of_code] : errors) {
    count += errors_of_code;
  }
  return count;
}

PointResult Summarize(const LoadResult& load, const ServerWindow& server) {
  PointResult point;
  point.offered_rate = load.offered_rate();
  point.achieved_rate = load.achieved_rate();
  point.window_s = std::chrono::duration<double>(load.window).count();
  point.planned = load.planned;
  point.ok = load.ok();
  point.errors = ErrorsOf(load.ended);
  for (const ClassLoad& one : load.classes) {
    point.classes.push_back({.planned = one.planned,
                             .ok = one.ended[0],
                             .errors = ErrorsOf(one.ended),
                             .latency = Summarize(one.latency),
                             .histogram = RecordOf(one.latency)});
  }
  if (load.not_sent > 0) {
    point.errors["NOT_SENT"] = load.not_sent;
  }
  if (load.unanswered > 0) {
    point.errors["UNANSWERED"] = load.unanswered;
  }
  point.latency = Summarize(load.latency);
  point.latency_from_send = Summarize(load.latency_from_send);
  point.failed_latency = Summarize(load.failed_latency);
  point.send_lag = Summarize(load.send_lag);
  point.histograms = {.latency = RecordOf(load.latency),
                      .latency_from_send = RecordOf(load.latency_from_send),
                      .failed_latency = RecordOf(load.failed_latency),
                      .send_lag = RecordOf(load.send_lag)};
  point.mean_interval = MeanInterval(load);
  point.p50_interval = QuantileInterval(load, 0.5);
  point.p99_interval = QuantileInterval(load, 0.99);
  point.series = Series(load);
  point.unsteady = Unsteadiness(load);
  point.mean_rows = server.mean_rows;
  point.busy_ratio = server.busy_ratio;
  point.busy_source = server.busy_source;
  point.server_times = server.times;
  point.batches = server.batches;
  point.closed = server.closed;
  point.device = server.device;
  point.void_reason = VoidReason(load);
  point.interrupted = load.interrupted;
  return point;
}

}  // namespace ferry::bench
