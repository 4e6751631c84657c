// Who waits, who is expected, and who used how much.
#include "batcher/weighted_gate.h"

#include <algorithm>

#include "batcher/check.h"

namespace ferry {
namespace {

bool UsedLess(const GateShare* a, const GateShare* b) {
  return a->used_ns < b->used_ns;
}

}  // namespace

WeightedGate::WeightedGate(int32_t permits) : free_permits_(permits) {
  Check(permits >= 1, "a gate lets somebody in");
}

DeviceGate::Turn WeightedGate::TryEnter(GateClient& client, TimePoint now) {
  MutexLock lock(mutex_);
  DropStale(now);
  if (active_.empty()) {  // there was time for all
    virtual_ns_ = most_used_ns_;
  }
  if (client.state == GateClient::State::kOutside) {
    Activate(client.share);
    ++client.share.clients;
    client.state = GateClient::State::kWaiting;
    waiting_.push_back(&client);
  }
  client.share.kept_until = TimePoint::min();
  const TimePoint kept_until = LetIn(now);
  return {.is_let_in = client.state == GateClient::State::kLetIn,
          .ask_again = kept_until};
}

void WeightedGate::Leave(GateClient& client, Duration taken, TimePoint now) {
  MutexLock lock(mutex_);
  Check(client.state != GateClient::State::kOutside, "who leaves has come");
  GateShare& share = client.share;
  if (client.state == GateClient::State::kWaiting) {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &client));
  } else {
    ++free_permits_;
  }
  client.state = GateClient::State::kOutside;
  share.used_ns += static_cast<double>(taken.count()) / share.weight;
  most_used_ns_ = std::max(most_used_ns_, share.used_ns);
  --share.clients;
  share.kept_until = now + kKeep;
  DropStale(now);
  if (LetIn(now) != kNever) {
    for (GateClient* waiting : waiting_) {
      waiting->GateFree();  // to ask when the place is kept no longer
    }
  }
}

void WeightedGate::Forget(GateShare& share) {
  MutexLock lock(mutex_);
  Check(share.clients == 0, "no lane computes for a share that goes");
  active_.erase(std::remove(active_.begin(), active_.end(), &share),
                active_.end());
}

void WeightedGate::Activate(GateShare& share) {
  if (std::find(active_.begin(), active_.end(), &share) != active_.end()) {
    return;
  }
  const double credit_ns = static_cast<double>(kCredit.count()) / share.weight;
  share.used_ns = std::max(share.used_ns, virtual_ns_ - credit_ns);
  active_.push_back(&share);
}

void WeightedGate::DropStale(TimePoint now) {
  const auto is_stale = [now](const GateShare* share) {
    return share->clients == 0 && share->kept_until <= now;
  };
  active_.erase(std::remove_if(active_.begin(), active_.end(), is_stale),
                active_.end());
}

TimePoint WeightedGate::LetIn(TimePoint now) {
  while (free_permits_ > 0 && !waiting_.empty()) {
    const auto next =
        std::min_element(waiting_.begin(), waiting_.end(),
                         [](const GateClient* a, const GateClient* b) {
                           return UsedLess(&a->share, &b->share);
                         });
    int32_t kept = 0;
    TimePoint kept_until = kNever;
    for (const GateShare* share : active_) {
      if (share->kept_until > now && UsedLess(share, &(*next)->share)) {
        ++kept;
        kept_until = std::min(kept_until, share->kept_until);
      }
    }
    if (kept >= free_permits_) {
      return kept_until;
    }
    GateClient& client = **next;
    waiting_.erase(next);
    virtual_ns_ = std::max(virtual_ns_, client.share.used_ns);
    client.state = GateClient::State::kLetIn;
    --free_permits_;
    client.GateFree();
  }
  return kNever;
}

}  // namespace ferry
