// Readiness tells every endpoint whether the server takes requests.
//
// Its state only moves forward: starting, incomplete, ready, draining, lost.
// While it is ready it may be blind, all its models overdue, or a thread of it
// stalled, and is not ready then, again and again.
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
  kLost,      // a device is lost, something hangs, memory runs out: not live
};

class Readiness {
 public:
  ServerState state() const { return state_.load(std::memory_order_relaxed); }
  bool is_ready() const {
    return state() == ServerState::kReady && !is_blind() && !is_overdue() &&
           !is_stalled();
  }
  // Whether its models are asked to serve.
  bool is_serving() const {
    return state() == ServerState::kReady ||
           state() == ServerState::kIncomplete;
  }
  bool is_live() const { return state() != ServerState::kLost; }

  // Moves on to `next`; stays where it is if that is behind.
  void MoveTo(ServerState next) {
    ServerState now = state();
    while (now < next && !state_.compare_exchange_weak(
                             now, next, std::memory_order_relaxed)) {
    }
  }

  // Whether no new client can reach the server, for want of files.
  bool is_blind() const { return is_blind_.load(std::memory_order_relaxed); }
  void SetBlind(bool is_blind) {
    is_blind_.store(is_blind, std::memory_order_relaxed);
  }

  // Whether each model is at a batch for far longer than was predicted.
  bool is_overdue() const {
    return is_overdue_.load(std::memory_order_relaxed);
  }
  void SetOverdue(bool is_overdue) {
    is_overdue_.store(is_overdue, std::memory_order_relaxed);
  }

  // Whether a thread that serves all clients has stopped to.
  bool is_stalled() const {
    return is_stalled_.load(std::memory_order_relaxed);
  }
  void SetStalled(bool is_stalled) {
    is_stalled_.store(is_stalled, std::memory_order_relaxed);
  }

 private:
  std::atomic<ServerState> state_{ServerState::kStarting};
  std::atomic<bool> is_blind_{false};
  std::atomic<bool> is_overdue_{false};
  std::atomic<bool> is_stalled_{false};
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_READINESS_H_
