// Implements ReadyProbe with a thread and an HTTP client a server.
#include "deploy/launch/ready_probe.h"

#include <httplib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ferry::launch {
namespace {

constexpr Duration kInterval = std::chrono::milliseconds(250);
constexpr int kOk = 200;
constexpr int kUnavailable = 503;

std::string ToUrl(const HttpAddress& address) {
  const bool is_v6 = absl::StrContains(address.host, ':');
  return absl::StrCat(address.has_tls ? "https://" : "http://",
                      is_v6 ? "[" : "", address.host, is_v6 ? "]" : "", ":",
                      address.port);
}

enum class Health {
  kReady,
  kLive,     // but not ready
  kNotLive,  // it says so itself
  kSilent,
};

Health AskHealth(const HttpAddress& address) {
  httplib::Client http(ToUrl(address));
  // Its certificate has the name that other machines know; the server is ours.
  http.enable_server_certificate_verification(false);
  http.set_connection_timeout(ReadyProbe::kTimeout);
  http.set_read_timeout(ReadyProbe::kTimeout);
  const httplib::Result ready = http.Get("/v2/health/ready");
  if (!ready || ready->status == kOk) {
    return ready ? Health::kReady : Health::kSilent;
  }
  const httplib::Result live = http.Get("/v2/health/live");
  if (!live) {
    return Health::kSilent;
  }
  return live->status == kUnavailable ? Health::kNotLive : Health::kLive;
}

}  // namespace

std::string LocalHost(const std::string& address) {
  return address == "0.0.0.0" || address == "::" ? "127.0.0.1" : address;
}

bool Silence::Missed(TimePoint asked, TimePoint now) {
  // One may be of a launcher that was stopped itself, with all it started.
  const bool is_first = since_ == kNever;
  since_ = std::min(since_, asked);
  if (is_first || is_told_ || limit_ == Duration(0) || now - since_ < limit_) {
    return false;
  }
  is_told_ = true;
  return true;
}

ReadyProbe::ReadyProbe(const std::vector<HttpAddress>& addresses,
                       Duration hang_timeout)
    : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (const HttpAddress& address : addresses) {
    targets_.push_back({.address = address, .silence = Silence(hang_timeout)});
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    threads_.emplace_back([this, i] { Run(i); });
  }
}

ReadyProbe::~ReadyProbe() {
  {
    MutexLock lock(mutex_);
    is_done_ = true;
    ended_.SignalAll();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  close(event_fd_);
}

void ReadyProbe::Watch(size_t server) {
  MutexLock lock(mutex_);
  Target& target = targets_[server];
  target.is_watched = true;
  target.is_ready = false;
  target.has_answered = false;
  target.silence.Answered();
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

void ReadyProbe::Run(size_t server) {
  for (;;) {
    {
      MutexLock lock(mutex_);
      const TimePoint until = Clock::Steady().Now() + kInterval;
      while (!is_done_ && Clock::Steady().Now() < until) {
        ended_.WaitUntil(mutex_, until);
      }
      if (is_done_) {
        return;
      }
    }
    Ask(server);
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
  const TimePoint start = Clock::Steady().Now();
  const Health health = AskHealth(asked.address);
  const TimePoint end = Clock::Steady().Now();
  const bool is_ready = health == Health::kReady;
  MutexLock lock(mutex_);
  Target& target = targets_[server];
  if (!target.is_watched || target.watches != asked.watches) {
    return;
  }
  if (target.is_ready != is_ready) {
    target.is_ready = is_ready;
    Tell({server,
          is_ready ? ReadyChange::To::kReady : ReadyChange::To::kNotReady});
  }
  if (is_ready || health == Health::kLive) {
    target.has_answered = true;
    target.silence.Answered();
    return;
  }
  const bool is_missed = health == Health::kNotLive ||
                         (end - start >= kTimeout && target.has_answered);
  if (is_missed && target.silence.Missed(start, end)) {
    Tell({server, ReadyChange::To::kHung});
  }
}

void ReadyProbe::Tell(const ReadyChange& change) {
  changes_.push_back(change);
  eventfd_write(event_fd_, 1);
}

}  // namespace ferry::launch
