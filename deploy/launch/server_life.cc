// Implements ServerLife: changes states, and computes delays.
#include "deploy/launch/server_life.h"

#include <string.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ferry::launch {
namespace {

// What ferry-server means by its exit codes.
const char* Meaning(int code) {
  switch (code) {
    case 0:
      return " (drained)";
    case 1:
      return " (could not start)";
    case 3:
      return " (a device is lost, something hangs, or memory runs out)";
    case 4:
      return " (not drained in time)";
    default:
      return "";
  }
}

}  // namespace

const char* LifeStateName(LifeState state) {
  switch (state) {
    case LifeState::kWaiting:
      return "waiting";
    case LifeState::kStarting:
      return "starting";
    case LifeState::kReady:
      return "ready";
    case LifeState::kNotReady:
      return "not-ready";
    case LifeState::kStuck:
      return "stuck";
    case LifeState::kStopping:
      return "stopping";
    default:
      return "stopped";
  }
}

std::string DescribeEnd(const ProcessEnd& end) {
  if (end.signal != 0) {
    const char* const name = sigabbrev_np(end.signal);
    return name == nullptr ? absl::StrCat("signal ", end.signal)
                           : absl::StrCat("SIG", name);
  }
  return absl::StrCat("exit code ", end.code, Meaning(end.code));
}

void ServerLife::Started() {
  ++starts_;
  state_ = LifeState::kStarting;
  ready_since_.reset();
}

void ServerLife::StartFailed(TimePoint now) {
  Started();
  ++failed_starts_;
  WaitForRestart(now);
}

void ServerLife::Answered(bool is_ready, TimePoint now) {
  if (!is_running() || state_ == LifeState::kStopping ||
      state_ == LifeState::kStuck) {
    return;
  }
  if (is_ready) {
    state_ = LifeState::kReady;
    failed_starts_ = 0;
    if (!ready_since_.has_value()) {
      ready_since_ = now;
    }
  } else if (state_ == LifeState::kReady) {
    state_ = LifeState::kNotReady;
  }
}

void ServerLife::Ended(const ProcessEnd& end, TimePoint now) {
  last_end_ = end;
  gone_by_ = kNever;
  if (state_ == LifeState::kStopping || end.is_success()) {
    state_ = LifeState::kStopped;
    return;
  }
  if (!ready_since_.has_value()) {
    ++failed_starts_;
  }
  if (ready_since_.has_value() && now - *ready_since_ >= back_off_.healthy) {
    delay_ = Duration(0);
  }
  WaitForRestart(now);
}

void ServerLife::Killed(TimePoint now) {
  gone_by_ = std::min(gone_by_, now + kGone);
}

bool ServerLife::IsStuck(TimePoint now) {
  if (now < gone_by_) {
    return false;
  }
  gone_by_ = kNever;
  state_ =
      state_ == LifeState::kStopping ? LifeState::kStopped : LifeState::kStuck;
  return true;
}

void ServerLife::Stop() {
  state_ = is_running() && state_ != LifeState::kStuck ? LifeState::kStopping
                                                       : LifeState::kStopped;
}

void ServerLife::WaitForRestart(TimePoint now) {
  delay_ = delay_ == Duration(0) ? back_off_.first
                                 : std::min(delay_ * 2, back_off_.most);
  next_start_ = now + delay_;
  state_ = LifeState::kWaiting;
}

}  // namespace ferry::launch
