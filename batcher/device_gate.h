// DeviceGate says who may compute next where several models share a device.
//
// A backend asks TryEnter() for a staged batch and, refused, waits for
// GateClient::GateFree(). OpenGate is the gate of a device with one client: the
// lanes of the backend are all there is to share. WeightedGate shares the
// device's time by weight (weighted_gate.h).
//
// Thread safety: thread-safe.
#ifndef FERRY_BATCHER_DEVICE_GATE_H_
#define FERRY_BATCHER_DEVICE_GATE_H_

#include "batcher/clock.h"

namespace ferry {

// What the lanes of one model have together.
struct GateShare {
  double weight = 1;  // > 0; of the device's time, against other shares

  // The gate's own.
  double used_ns = 0;   // device time over weight
  int32_t clients = 0;  // that compute or wait
};

// One lane. Its `share` outlives it.
class GateClient {
 public:
  explicit GateClient(GateShare& its_share) : share(its_share) {}

  // It is this client's turn: TryEnter() will let it in. Never blocks.
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
  virtual ~DeviceGate() = default;

  // Returns whether `client` may compute now; if not, GateFree() follows.
  virtual bool TryEnter(GateClient& client) = 0;

  // The client has computed for `taken`. REQUIRES: it was let in.
  virtual void Leave(GateClient& client, Duration taken) = 0;
};

class OpenGate final : public DeviceGate {
 public:
  bool TryEnter(GateClient&) override { return true; }
  void Leave(GateClient&, Duration) override {}
};

}  // namespace ferry

#endif  // FERRY_BATCHER_DEVICE_GATE_H_
