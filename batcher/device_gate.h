// DeviceGate says who may compute next where several models share a device.
//
// A backend asks TryEnter() for a staged batch and, refused, waits for
// GateClient::GateFree(), or until it may ask again. OpenGate is the gate of a
// device with one client: the lanes of the backend are all there is to share.
// WeightedGate shares the device's time by weight (weighted_gate.h).
//
// Thread safety: thread-safe.
#ifndef FERRY_BATCHER_DEVICE_GATE_H_
#define FERRY_BATCHER_DEVICE_GATE_H_

#include <cstdint>

#include "batcher/clock.h"

namespace ferry {

// What the lanes of one model have together.
struct GateShare {
  double weight = 1;  // > 0; of the device's time, against other shares

  // The gate's own.
  double used_ns = 0;   // device time over weight
  int32_t clients = 0;  // that compute or wait
  TimePoint kept_until = TimePoint::min();
};

// One lane. Its `share` outlives it.
class GateClient {
 public:
  explicit GateClient(GateShare& its_share) : share(its_share) {}

  // TryEnter() may say something else now. Never blocks.
  virtual void GateFree() = 0;

  GateShare& share;

  // The gate's own.
  enum class State : uint8_t { kOutside, kWaiting, kLetIn };
  State state = State::kOutside;

 protected:
  ~GateClient() = default;
};

class DeviceGate {
 public:
  struct Turn {
    bool is_let_in = false;
    TimePoint ask_again = kNever;  // if not let in, unless GateFree() is sooner
  };

  virtual ~DeviceGate() = default;

  virtual Turn TryEnter(GateClient& client, TimePoint now) = 0;

  // The client has computed for `taken`; or it was not let in, and waits no
  // longer. REQUIRES: it was let in, or TryEnter() was called.
  virtual void Leave(GateClient& client, Duration taken, TimePoint now) = 0;

  // The share is about to go; none of its clients is here.
  virtual void Forget(GateShare&) {}
};

class OpenGate final : public DeviceGate {
 public:
  Turn TryEnter(GateClient&, TimePoint) override { return {.is_let_in = true}; }
  void Leave(GateClient&, Duration, TimePoint) override {}
};

}  // namespace ferry

#endif  // FERRY_BATCHER_DEVICE_GATE_H_
