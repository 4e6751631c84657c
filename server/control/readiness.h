// Readiness tells every endpoint whether the server takes requests.
//
// It only moves forward: starting, incomplete, ready, draining, lost.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_CONTROL_READINESS_H_
#define FERRY_SERVER_CONTROL_READINESS_H_

#include <atomic>
#include <cstdint>

namespace ferry {

enum class ServerState : uint8_t {
  kStarting,
  kIncomplete,  // serves, but lacks a model of the start: --strict-readiness
  kReady,
  kDraining,  // finishes what was admitted
  kLost,      // a device is lost or hangs: not live either
};

class Readiness {
 public:
  ServerState state() const { return state_.load(std::memory_order_relaxed); }
  bool is_ready() const { return state() == ServerState::kReady; }
  // Whether its models are asked to serve.
  bool is_serving() const {
    return is_ready() || state() == ServerState::kIncomplete;
  }
  bool is_live() const { return state() != ServerState::kLost; }

  // Moves on to `next`; stays where it is if that is behind.
  void MoveTo(ServerState next) {
    ServerState now = state();
    while (now < next && !state_.compare_exchange_weak(
                             now, next, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<ServerState> state_{ServerState::kStarting};
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_READINESS_H_
