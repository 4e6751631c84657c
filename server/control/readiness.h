// Readiness tells every endpoint whether the server takes requests.
//
// Its state only moves forward: starting, incomplete, ready, draining, lost.
// While it is ready a port of it may be blind, all its models overdue, or a
// thread of it stalled, and it is not ready then, again and again. Nor is it
// while nothing looks after it, and then it is not live either.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_CONTROL_READINESS_H_
#define FERRY_SERVER_CONTROL_READINESS_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

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
  // Without a look for as long the process is not live: its main thread hangs.
  static constexpr Duration kNoLook = std::chrono::seconds(30);

  explicit Readiness(const Clock& clock = Clock::Steady())
      : clock_(clock), looked_(clock.Now()) {}

  ServerState state() const { return state_.load(std::memory_order_relaxed); }
  bool is_ready() const {
    return state() == ServerState::kReady && takes_requests() &&
           !is_overdue() && !is_stalled();
  }
  // Whether clients may ask its models, those that are ready.
  bool takes_requests() const {
    return is_serving() && !is_blind() && is_live();
  }
  bool is_live() const {
    return state() != ServerState::kLost &&
           (!is_serving() ||
            clock_.Now() - looked_.load(std::memory_order_relaxed) < kNoLook);
  }

  // The server is looked after, as it is again and again while it serves.
  void Looked() { looked_.store(clock_.Now(), std::memory_order_relaxed); }

  // Moves on to `next`; stays where it is if that is behind.
  void MoveTo(ServerState next) {
    ServerState now = state();
    while (now < next && !state_.compare_exchange_weak(
                             now, next, std::memory_order_relaxed)) {
    }
  }

  // Whether no new client can reach a port of the server, for want of files.
  bool is_blind() const {
    return blind_ports_.load(std::memory_order_relaxed) > 0;
  }
  // A port has become blind, or is not any more.
  void PortIsBlind(bool is_blind) {
    blind_ports_.fetch_add(is_blind ? 1 : -1, std::memory_order_relaxed);
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
  // While it is to be looked after.
  bool is_serving() const {
    return state() == ServerState::kReady ||
           state() == ServerState::kIncomplete;
  }

  const Clock& clock_;
  std::atomic<TimePoint> looked_;
  std::atomic<ServerState> state_{ServerState::kStarting};
  std::atomic<int> blind_ports_{0};
  std::atomic<bool> is_overdue_{false};
  std::atomic<bool> is_stalled_{false};
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_READINESS_H_
