// Implements DeviceShare: keeps the accounts of models, lets instances in.
#include "batcher/device_share.h"

#include <algorithm>

#include "base/check.h"

namespace ferry {
namespace {

bool UsedLess(const ModelShare* a, const ModelShare* b) {
  return a->used_ns < b->used_ns;
}

}  // namespace

DeviceShare::DeviceShare(int32_t permits) : free_permits_(permits) {
  Check(permits >= 1, "a device computes for at least one instance");
}

DeviceShare::Turn DeviceShare::TryEnter(ShareClient& client, TimePoint now) {
  MutexLock lock(mutex_);
  DropStale(now);
  if (active_.empty()) {  // there was time for all
    virtual_ns_ = most_used_ns_;
  }
  if (client.state == ShareClient::State::kOutside) {
    Activate(client.share);
    ++client.share.clients;
    client.state = ShareClient::State::kWaiting;
    waiting_.push_back(&client);
  }
  client.share.kept_until = TimePoint::min();
  const TimePoint kept_until = LetIn(now);
  return {.is_let_in = client.state == ShareClient::State::kLetIn,
          .ask_again = kept_until};
}

void DeviceShare::Leave(ShareClient& client, Duration taken, TimePoint now) {
  MutexLock lock(mutex_);
  Leave(client, taken, now, /*kept_until=*/now + kKeep);
}

void DeviceShare::LeaveWithoutWork(ShareClient& client, TimePoint now) {
  MutexLock lock(mutex_);
  if (client.state != ShareClient::State::kOutside) {
    Leave(client, Duration(0), now, /*kept_until=*/TimePoint::min());
  }
}

void DeviceShare::Leave(ShareClient& client, Duration taken, TimePoint now,
                        TimePoint kept_until) {
  Check(client.state != ShareClient::State::kOutside,
        "a client that leaves has come");
  ModelShare& share = client.share;
  if (client.state == ShareClient::State::kWaiting) {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &client));
  } else {
    ++free_permits_;
  }
  client.state = ShareClient::State::kOutside;
  share.used_ns += static_cast<double>(taken.count()) / share.weight;
  most_used_ns_ = std::max(most_used_ns_, share.used_ns);
  --share.clients;
  share.kept_until = kept_until;
  DropStale(now);
  if (LetIn(now) != kNever) {
    for (ShareClient* waiting : waiting_) {
      waiting->TurnCame();  // to ask when the place is kept no longer
    }
  }
}

void DeviceShare::Forget(ModelShare& share) {
  MutexLock lock(mutex_);
  Check(share.clients == 0, "no instance computes for a model that goes");
  active_.erase(std::remove(active_.begin(), active_.end(), &share),
                active_.end());
}

void DeviceShare::Activate(ModelShare& share) {
  if (std::find(active_.begin(), active_.end(), &share) != active_.end()) {
    return;
  }
  const double credit_ns = static_cast<double>(kCredit.count()) / share.weight;
  share.used_ns = std::max(share.used_ns, virtual_ns_ - credit_ns);
  active_.push_back(&share);
}

void DeviceShare::DropStale(TimePoint now) {
  const auto is_stale = [now](const ModelShare* share) {
    return share->clients == 0 && share->kept_until <= now;
  };
  active_.erase(std::remove_if(active_.begin(), active_.end(), is_stale),
                active_.end());
}

TimePoint DeviceShare::LetIn(TimePoint now) {
  while (free_permits_ > 0 && !waiting_.empty()) {
    const auto next =
        std::min_element(waiting_.begin(), waiting_.end(),
                         [](const ShareClient* a, const ShareClient* b) {
                           return UsedLess(&a->share, &b->share);
                         });
    int32_t kept = 0;
    TimePoint kept_until = kNever;
    for (const ModelShare* share : active_) {
      if (share->kept_until > now && UsedLess(share, &(*next)->share)) {
        ++kept;
        kept_until = std::min(kept_until, share->kept_until);
      }
    }
    if (kept >= free_permits_) {
      return kept_until;
    }
    ShareClient& client = **next;
    waiting_.erase(next);
    virtual_ns_ = std::max(virtual_ns_, client.share.used_ns);
    client.state = ShareClient::State::kLetIn;
    --free_permits_;
    client.TurnCame();
  }
  return kNever;
}

}  // namespace ferry
