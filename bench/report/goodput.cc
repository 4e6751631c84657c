// Implements GoodputOf(): counts whole buckets, up to the bound.
#include "bench/report/goodput.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferry::bench {

std::optional<double> GoodputOf(const PointResult& point, double slo_ms) {
  const HistogramRecord& latency = point.histograms.latency;
  if (point.loop == "offline" || point.window_s <= 0 ||
      latency.count != point.ok) {
    return std::nullopt;
  }
  uint64_t within = 0;
  for (const HistogramRecord::Bucket& bucket : latency.buckets) {
    // The last bucket holds nothing beyond the maximum.
    const auto highest_ns =
        static_cast<double>(std::min(bucket.highest_ns, latency.max_ns));
    within += highest_ns <= slo_ms * 1e6 ? bucket.count : 0;
  }
  return static_cast<double>(within) / point.window_s;
}

void SetGoodput(double slo_ms, RunResult& run) {
  run.slo_ms = slo_ms;
  for (PointResult& point : run.points) {
    point.goodput_rate = GoodputOf(point, slo_ms);
  }
}

std::optional<double> GoodputSloMs(const std::vector<RunResult>& runs) {
  std::optional<double> slo_ms;
  for (const RunResult& run : runs) {
    if (!run.slo_ms.has_value()) {
      continue;
    }
    if (slo_ms.has_value() && *slo_ms != *run.slo_ms) {
      return std::nullopt;
    }
    slo_ms = run.slo_ms;
  }
  return slo_ms;
}

bool HasGoodput(const std::vector<RunResult>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const RunResult& run) {
    return run.slo_ms.has_value();
  });
}

std::string DescribeGoodput(const std::vector<RunResult>& runs) {
  const auto slo_ms = GoodputSloMs(runs);
  return absl::StrCat(
      "goodput: successes/s within ",
      slo_ms ? absl::StrFormat("%g ms", *slo_ms) : "the bound of each run",
      " of their planned send, of what was planned in the window (achieved/s "
      "counts what ended in it)");
}

}  // namespace ferry::bench
