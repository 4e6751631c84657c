// Who waits, and who used how much.
#include "batcher/weighted_gate.h"

#include <algorithm>

#include "batcher/check.h"

namespace ferry {

WeightedGate::WeightedGate(int32_t permits) : free_permits_(permits) {
  Check(permits >= 1, "a gate lets somebody in");
}

bool WeightedGate::TryEnter(GateClient& client) {
  MutexLock lock(mutex_);
  if (client.state == GateClient::State::kOutside) {
    Activate(client.share);
    client.state = GateClient::State::kWaiting;
    waiting_.push_back(&client);
    LetNextIn();
  }
  return client.state == GateClient::State::kLetIn;
}

void WeightedGate::Leave(GateClient& client, Duration taken) {
  MutexLock lock(mutex_);
  Check(client.state == GateClient::State::kLetIn, "who leaves was let in");
  client.state = GateClient::State::kOutside;
  client.share.used_ns +=
      static_cast<double>(taken.count()) / client.share.weight;
  Deactivate(client.share);
  ++free_permits_;
  LetNextIn();
}

void WeightedGate::Activate(GateShare& share) {
  if (share.clients++ > 0) {
    return;
  }
  const auto least =
      std::min_element(active_.begin(), active_.end(),
                       [](const GateShare* a, const GateShare* b) {
                         return a->used_ns < b->used_ns;
                       });
  if (least != active_.end()) {
    share.used_ns = std::max(share.used_ns, (*least)->used_ns);
  }
  active_.push_back(&share);
}

void WeightedGate::Deactivate(GateShare& share) {
  if (--share.clients == 0) {
    active_.erase(std::find(active_.begin(), active_.end(), &share));
  }
}

void WeightedGate::LetNextIn() {
  while (free_permits_ > 0 && !waiting_.empty()) {
    const auto next =
        std::min_element(waiting_.begin(), waiting_.end(),
                         [](const GateClient* a, const GateClient* b) {
                           return a->share.used_ns < b->share.used_ns;
                         });
    GateClient& client = **next;
    waiting_.erase(next);
    client.state = GateClient::State::kLetIn;
    --free_permits_;
    client.GateFree();
  }
}

}  // namespace ferry
