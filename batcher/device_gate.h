// DeviceGate says who may compute next where several models share a device.
//
// A backend asks TryEnter() for a staged batch and, refused, waits for
// GateClient::GateFree(). OpenGate is the gate of a device with one client: the
// lanes of the backend are all there is to share.
//
// Thread safety: thread-safe.
#ifndef FERRY_BATCHER_DEVICE_GATE_H_
#define FERRY_BATCHER_DEVICE_GATE_H_

#include "batcher/clock.h"

namespace ferry {

class GateClient {
 public:
  // It is this client's turn: TryEnter() will let it in. Never blocks.
  virtual void GateFree() = 0;

 protected:
  ~GateClient() = default;
};

class DeviceGate {
 public:
  virtual ~DeviceGate() = default;

  // Returns whether `client` may compute now. `predicted` is how long, as far
  // as it knows; 0: unknown.
  virtual bool TryEnter(GateClient& client, Duration predicted) = 0;

  // The client has computed for `taken`. REQUIRES: it was let in.
  virtual void Leave(GateClient& client, Duration taken) = 0;
};

class OpenGate final : public DeviceGate {
 public:
  bool TryEnter(GateClient&, Duration) override { return true; }
  void Leave(GateClient&, Duration) override {}
};

}  // namespace ferry

#endif  // FERRY_BATCHER_DEVICE_GATE_H_
