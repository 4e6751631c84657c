// Implements FenceLog: compares with what was told last.
#include "server/net/fence_log.h"

#include <spdlog/spdlog.h>

#include <numeric>

namespace ferry {

void FenceLog::Look(const FenceCounts& counts, TimePoint now) {
  const uint64_t ended =
      std::accumulate(counts.ended.begin(), counts.ended.end(), uint64_t{0});
  if ((ended == ended_ && counts.refused == refused_) ||
      (told_at_.has_value() && now < *told_at_ + kToldAgain)) {
    return;
  }
  if (ended > ended_) {
    spdlog::warn(
        "ended {} connections whose client sent what no client sends; "
        "ferry_connections_ended_total has the reasons: look after the proxy "
        "in front, and do without a proxy only where clients are known",
        ended - ended_);
  }
  if (counts.refused > refused_) {
    spdlog::warn(
        "refused {} connections past --grpc-max-connections or "
        "--grpc-max-connections-per-peer: look which clients open so many, or "
        "raise it",
        counts.refused - refused_);
  }
  ended_ = ended;
  refused_ = counts.refused;
  told_at_ = now;
}

}  // namespace ferry
