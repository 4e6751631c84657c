// Histograms to the few numbers that reports carry.
#include "bench/run_result.h"

#include <chrono>

namespace ferry::bench {
namespace {

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

LatencySummary Summarize(const LatencyHistogram& histogram) {
  LatencySummary summary;
  summary.p50_us = Microseconds(histogram.Quantile(0.5));
  summary.p90_us = Microseconds(histogram.Quantile(0.9));
  summary.p99_us = Microseconds(histogram.Quantile(0.99));
  summary.p999_us = Microseconds(histogram.Quantile(0.999));
  summary.max_us = Microseconds(histogram.max());
  summary.mean_us = histogram.mean() / 1e3;
  return summary;
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
  for (size_t code = 1; code < kCodeCount; ++code) {
    if (load.ended[code] > 0) {
      point.errors[CodeName(code)] = load.ended[code];
    }
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
  point.mean_rows = server.mean_rows;
  point.busy_ratio = server.busy_ratio;
  point.busy_source = server.busy_source;
  point.void_reason = VoidReason(load);
  point.interrupted = load.interrupted;
  return point;
}

}  // namespace ferry::bench
