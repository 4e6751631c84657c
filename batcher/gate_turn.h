// GateTurn: a place at a device's gate, at which a thread can wait for its
// turn.
//
// Thread safety: GateFree() from any thread, the rest from one after the other.
#ifndef FERRY_BATCHER_GATE_TURN_H_
#define FERRY_BATCHER_GATE_TURN_H_

#include "batcher/clock.h"
#include "batcher/device_gate.h"
#include "batcher/event_count.h"

namespace ferry {

class GateTurn final : public GateClient {
 public:
  explicit GateTurn(GateShare& its_share) : GateClient(its_share) {}

  void GateFree() override { free_.Notify(); }

  bool is_let_in() const { return is_let_in_; }

  // Does not wait for it. Refused, it has a place in the gate's order until it
  // enters or leaves.
  bool TryEnter(DeviceGate& gate, TimePoint now) {
    is_let_in_ = gate.TryEnter(*this, now).is_let_in;
    return is_let_in_;
  }

  // Waits until it is let in, if it is not. The clock is the system's where it
  // has to wait.
  void Enter(DeviceGate& gate, const Clock& clock) {
    while (!is_let_in_) {
      const EventCount::Key key = free_.PrepareWait();
      const DeviceGate::Turn turn = gate.TryEnter(*this, clock.Now());
      is_let_in_ = turn.is_let_in;
      if (is_let_in_) {
        free_.CancelWait();
      } else {
        free_.Wait(key, turn.ask_again);
      }
    }
  }

  // As DeviceGate::Leave().
  void Leave(DeviceGate& gate, Duration taken, TimePoint now) {
    gate.Leave(*this, taken, now);
    is_let_in_ = false;
  }

 private:
  EventCount free_;
  bool is_let_in_ = false;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_GATE_TURN_H_
