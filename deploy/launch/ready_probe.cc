// Implements ReadyProbe with one thread and one HTTP client.
#include "deploy/launch/ready_probe.h"

#include <httplib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace ferry::launch {
namespace {

constexpr Duration kInterval = std::chrono::milliseconds(250);
constexpr time_t kTimeoutS = 1;
constexpr int kOk = 200;

}  // namespace

std::string LocalHost(const std::string& address) {
  return address == "0.0.0.0" ? "127.0.0.1" : address == "::" ? "::1" : address;
}

ReadyProbe::ReadyProbe(const std::vector<HttpAddress>& addresses)
    : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (const HttpAddress& address : addresses) {
    targets_.push_back({.address = address});
  }
  thread_ = std::thread([this] { Run(); });
}

ReadyProbe::~ReadyProbe() {
  {
    MutexLock lock(mutex_);
    is_done_ = true;
    ended_.SignalAll();
  }
  thread_.join();
  close(event_fd_);
}

void ReadyProbe::Watch(size_t server) {
  MutexLock lock(mutex_);
  Target& target = targets_[server];
  target.is_watched = true;
  target.is_ready = false;
  ++target.watches;
}

void ReadyProbe::Unwatch(size_t server) {
  MutexLock lock(mutex_);
  targets_[server].is_watched = false;
  changes_.erase(
      std::remove_if(changes_.begin(), changes_.end(),
                     [&](const ReadyChange& c) { return c.server == server; }),
      changes_.end());
}

std::vector<ReadyChange> ReadyProbe::TakeChanges() {
  eventfd_t count = 0;
  eventfd_read(event_fd_, &count);
  MutexLock lock(mutex_);
  std::vector<ReadyChange> changes;
  changes.swap(changes_);
  return changes;
}

void ReadyProbe::Run() {
  for (;;) {
    size_t count = 0;
    {
      MutexLock lock(mutex_);
      const TimePoint until = Clock::Steady().Now() + kInterval;
      while (!is_done_ && Clock::Steady().Now() < until) {
        ended_.WaitUntil(mutex_, until);
      }
      if (is_done_) {
        return;
      }
      count = targets_.size();
    }
    for (size_t i = 0; i < count; ++i) {
      Ask(i);
    }
  }
}

void ReadyProbe::Ask(size_t server) {
  Target asked;
  {
    MutexLock lock(mutex_);
    asked = targets_[server];
  }
  if (!asked.is_watched) {
    return;
  }
  httplib::Client http(asked.address.host, asked.address.port);
  http.set_connection_timeout(kTimeoutS);
  http.set_read_timeout(kTimeoutS);
  const httplib::Result reply = http.Get("/v2/health/ready");
  const bool is_ready = reply && reply->status == kOk;
  MutexLock lock(mutex_);
  Target& target = targets_[server];
  if (target.is_watched && target.watches == asked.watches &&
      target.is_ready != is_ready) {
    target.is_ready = is_ready;
    changes_.push_back({server, is_ready});
    eventfd_write(event_fd_, 1);
  }
}

}  // namespace ferry::launch
