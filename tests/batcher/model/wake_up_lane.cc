// The lanes: WorkQueue, and what its threads do. A section under its lock is
// one step.
#include "tests/batcher/model/wake_up_model.h"

namespace ferry {

bool WakeUpModel::MustWake(const State& state) const {
  const int open = state.items + state.to_tell;
  return config_.wakes_one_for_each ? open > state.polling : state.polling == 0;
}

// CondVar::SignalOne(): any one of those that sleep.
void WakeUpModel::Signal(State& state, bool is_second) const {
  for (int i = 0; i < config_.lanes; ++i) {
    const int lane = is_second ? config_.lanes - 1 - i : i;
    if (state.at[kFirstBatch + lane] == kLaneSleeps) {
      state.at[kFirstBatch + lane] = kLaneWoken;
      return;
    }
  }
}

// WorkQueue::WakeOne().
void WakeUpModel::StepWakeOne(State& state, int actor, int8_t first,
                              int8_t woken, int8_t not_woken,
                              bool is_second) const {
  int8_t& at = state.at[actor];
  switch (at - first) {
    case 0:
      at = state.waiting == 0 ? not_woken : static_cast<int8_t>(first + 1);
      return;
    case 1:
      if (state.to_tell != 0) {
        at = woken;
      } else if (config_.counts_who_has_work && state.waiting <= state.items) {
        at = not_woken;
      } else {
        state.to_tell = 1;
        at = MustWake(state) ? static_cast<int8_t>(first + 2) : woken;
      }
      return;
    default:
      Signal(state, is_second);
      at = woken;
      return;
  }
}

// WorkQueue::Pop() from where it holds the lock. A lane that finds nothing
// sleeps, or polls for a while that may end at any time.
void WakeUpModel::Look(State& state, int lane, bool is_second) const {
  int8_t& at = state.at[kFirstBatch + lane];
  int8_t& call_at = state.call_at[lane];
  if (state.to_tell != 0) {
    state.to_tell = 0;
    at = 1;
  } else if (state.items > 0) {
    --state.items;
    at = config_.hands_alarm_on && call_at != kNever ? 10 : kTakesLane;
    call_at = kNever;
  } else if (call_at <= state.now) {
    at = config_.lane_calls_again ? 1 : 0;
    call_at = kNever;
  } else {
    ++state.waiting;
    state.polling = static_cast<int8_t>(state.polling + (is_second ? 1 : 0));
    at = is_second ? kLanePolls : kLaneSleeps;
  }
}

// HostBackend::RunLane().
bool WakeUpModel::StepLane(State& state, int lane, bool is_second) const {
  const int actor = kFirstBatch + lane;
  int8_t& at = state.at[actor];
  switch (at) {
    case 0:
      Look(state, lane, is_second);
      return true;
    case 1:  // LaneAwake()
      state.call_at[lane] = kNever;
      if (state.is_asked == 0) {
        state.is_asked = 1;
        state.has_stepper = 1;
        at = 2;
      } else {
        state.is_asked_anew = 1;
        at = 0;
      }
      return true;
    case 2:
      switch (StepAsStepper(state, /*has_limit=*/true, is_second)) {
        case Role::kKept:
          break;
        case Role::kLeft:
          state.call_at[lane] = state.until;
          state.until = 0;
          at = 0;
          break;
        case Role::kHandedOver:
          at = 3;
          break;
      }
      return true;
    case 3:
    case 4:
      StepNotify(state, actor, 3);
      at = at == 5 ? 0 : at;
      return true;
    case 10:  // LaneBusy()
      state.left_until[actor] = state.wait_until;
      at = 11;
      return true;
    case 11:
      at = state.left_until[actor] < state.alarm ? 12 : kTakesLane;
      state.left_until[actor] = 0;
      return true;
    case 12:
    case 13:
      StepNotify(state, actor, 12);
      at = at == 14 ? kTakesLane : at;
      return true;
    case kTakesLane:
      if (config_.runs_inline && config_.lane_is_locked) {
        if (state.is_lane_locked != 0) {
          return false;
        }
        state.is_lane_locked = 1;
      }
      at = kComputes;
      return true;
    case kLaneSleeps:
      if (state.now < state.call_at[lane]) {
        return false;
      }
      [[fallthrough]];
    case kLaneWoken:
      --state.waiting;
      Look(state, lane, is_second);
      return true;
    case kLanePolls:
      --state.waiting;
      --state.polling;
      Look(state, lane, is_second);
      return true;
    default:
      break;
  }
  if (at == kLeavesLane) {
    state.is_lane_locked = 0;
    at = 0;
    return true;
  }
  StepEvents(state, actor, kComputes, is_second);
  if (at == kComputes + 24 &&
      !(config_.runs_inline && config_.lane_is_locked)) {
    at = 0;
  }
  return true;
}

}  // namespace ferry
