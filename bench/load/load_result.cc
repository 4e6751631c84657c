// Implements LoadResult: sums, rates and the rule that voids a run.
#include "bench/load/load_result.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "absl/strings/str_format.h"

namespace ferry::bench {
namespace {

constexpr double kLagShareOfLatency = 0.05;
constexpr double kLagAllowedNs = 1e6;

double PerSecond(uint64_t count, Duration window) {
  return window.count() == 0
             ? 0
             : static_cast<double>(count) /
                   std::chrono::duration<double>(window).count();
}

}  // namespace

uint64_t LoadResult::failed() const {
  return std::accumulate(ended.begin() + 1, ended.end(), uint64_t{0});
}

double LoadResult::offered_rate() const { return PerSecond(planned, window); }

double LoadResult::achieved_rate() const {
  return PerSecond(ok_in_window, window);
}

std::string VoidReason(const LoadResult& result) {
  if (result.planned == 0) {
    return "nothing was measured";
  }
  if (result.not_sent > 0) {
    return absl::StrFormat("%s %d of %d planned requests", kNeverSent,
                           result.not_sent, result.planned);
  }
  if (result.held_back > 0) {
    return absl::StrFormat("%d requests %s for a free call (--max-outstanding)",
                           result.held_back, kHeldBack);
  }
  if (result.is_offline && result.unanswered > 0) {
    return absl::StrFormat(
        "the query was given up: %d requests had no answer, those after them "
        "were not sent",
        result.unanswered);
  }
  const auto lag_ns = static_cast<double>(result.send_lag.Quantile(0.99));
  const auto latency_ns = static_cast<double>(result.latency.Quantile(0.99));
  if (lag_ns > std::max(kLagAllowedNs, kLagShareOfLatency * latency_ns)) {
    return absl::StrFormat(
        "%s: p99 of the send lag is %.2f ms, of the latency %.2f ms", kSentLate,
        lag_ns / 1e6, latency_ns / 1e6);
  }
  return "";
}

std::string CodeName(size_t code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

}  // namespace ferry::bench
