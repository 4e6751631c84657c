// Implements FellBehind(): one inequality.
#include "bench/load/falling_behind.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace ferry::bench {
namespace {

constexpr double kByChance = 3;       // deviations of a Poisson count
constexpr double kLeastUnderWay = 1;  // one request may always be

}  // namespace

SentAndAnswered CountAnswered(const LoadResult& load) {
  const auto failed = static_cast<double>(load.failed());
  const double window_ns =
      std::chrono::duration<double, std::nano>(load.window).count();
  const double waited_ns =
      load.latency.mean() * static_cast<double>(load.ok()) +
      load.failed_latency.mean() * failed;
  return {.sent = static_cast<double>(load.planned),
          .answered = static_cast<double>(load.ok_in_window) + failed,
          .under_way = window_ns > 0 ? waited_ns / window_ns : 0};
}

bool FellBehind(const SentAndAnswered& requests) {
  const double under_way = std::max(requests.under_way, kLeastUnderWay);
  const double allowed =
      std::max((1 - kLeastAnsweredShare) * requests.sent, under_way) +
      kByChance * std::sqrt(2 * under_way);
  return requests.sent - requests.answered > allowed;
}

}  // namespace ferry::bench
