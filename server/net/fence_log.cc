// Implements FenceLog: compares with what was told last.
#include "server/net/fence_log.h"

#include <spdlog/spdlog.h>

#include <numeric>

namespace ferry {

void FenceLog::Look(const FenceCounts& ended_by_reason, uint64_t refused,
                    TimePoint now) {
  const uint64_t ended = std::accumulate(ended_by_reason.begin(),
                                         ended_by_reason.end(), uint64_t{0});
  if ((ended == ended_ && refused == refused_) ||
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
  if (refused > refused_) {
    spdlog::warn(
        "refused {} connections past --grpc-max-connections or "
        "--grpc-max-connections-per-peer: look which clients open so many, or "
        "raise it",
        refused - refused_);
  }
  ended_ = ended;
  refused_ = refused;
  told_at_ = now;
}

}  // namespace ferry
