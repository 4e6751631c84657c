// The threads of the backend: lane, stager, deliverer; comments name the lines
// they stand for.
#include "tests/batcher/model/hand_over_model.h"

namespace ferry {

// HostBackend::RunLane().
bool HandOverModel::StepLane(State& state, Coin& coin) const {
  int8_t& at = state.at[kLane];
  switch (at) {
    case kSleeps:  // for nothing
      if (!config_.wakes_for_nothing) {
        return false;
      }
      [[fallthrough]];
    case kLooks:
    case kWoken:
    case kPolls:
      LaneLooks(state, coin);
      return true;
    case kRuns:
      if (state.is_lane_locked != 0 && config_.lane_is_locked) {
        return false;
      }
      state.is_lane_locked = 1;
      break;
    case kExited:
      return false;
    default:
      break;
  }
  StepRun(state, kLane, coin);
  return true;
}

// WorkQueue::Pop().
void HandOverModel::LaneLooks(State& state, Coin& coin) const {
  int8_t& at = state.at[kLane];
  if (state.to_compute.size > 0) {
    state.batch[kLane] = state.to_compute.Pop();
    at = kRuns;
  } else if (IsClosed(state, kLane)) {
    at = kExited;
  } else {
    at = config_.lane_polls && coin.Toss() ? kPolls : kSleeps;
  }
}

// HostBackend::RunStaging().
bool HandOverModel::StepStager(State& state) const {
  int8_t& at = state.at[kStager];
  int8_t& batch = state.batch[kStager];
  const bool is_early = !config_.pushes_when_staged;
  switch (at) {
    case kSleeps:
      if (!config_.wakes_for_nothing) {
        return false;
      }
      [[fallthrough]];
    case kLooks:
    case kWoken:
      StagerLooks(state);
      return true;
    case kTurn:
      at = state.staged == batch || !config_.stages_in_turn ? kStages : kPasses;
      if (is_early && at == kStages) {
        state.is_staged = static_cast<int8_t>(state.is_staged | 1 << batch);
        at = kPasses;
      }
      return true;
    case kStages:
    case kStaged:
      StepStage(state, kStager, is_early ? kLooks : kPasses);
      return true;
    case kPasses:
      at = PushToLane(state, batch) && config_.stager_wakes_lane ? kPassesSignal
                                                                 : kLooks;
      break;
    case kPassesSignal:
      Signal(state, kLane);
      at = kLooks;
      break;
    default:
      return false;
  }
  if (is_early && at == kLooks && (state.is_staged >> batch & 1) != 0) {
    at = kStages;
  }
  return true;
}

void HandOverModel::StagerLooks(State& state) const {
  int8_t& at = state.at[kStager];
  state.batch[kStager] = kNone;
  if (state.to_stage.size > 0) {
    state.batch[kStager] = state.to_stage.Pop();
    at = kTurn;
  } else {
    at = IsClosed(state, kStager) ? kExited : kSleeps;
  }
}

// RunDeliveries().
bool HandOverModel::StepDeliverer(State& state, Coin& coin) const {
  int8_t& at = state.at[kDeliverer];
  switch (at) {
    case kSleeps:
      if (state.timer == 0 && !config_.wakes_for_nothing) {
        return false;
      }
      if (state.timer != 0 && !config_.looks_at_timer) {
        state.timer = 0;
        return true;
      }
      [[fallthrough]];
    case kLooks:
    case kWoken:
      DelivererLooks(state, coin);
      return true;
    case kFallsAsleep:
      DelivererSleeps(state, coin);
      return true;
    case kFrees:
    case kSubtracts:
    case kReports:
      StepFreeSlots(state, kDeliverer, kFinishes);
      return true;
    case kFinishes:
      StepFinished(state, kDeliverer, kLooks);
      return true;
    default:
      return false;
  }
}

// DeliveryQueue::Pop().
void HandOverModel::DelivererLooks(State& state, Coin& coin) const {
  int8_t& at = state.at[kDeliverer];
  state.timer = 0;
  state.batch[kDeliverer] = kNone;
  if (state.to_deliver.size > 0) {
    state.batch[kDeliverer] = state.to_deliver.Pop();
    at = config_.deliverer_reports ? kFrees : kFinishes;
  } else if (IsClosed(state, kDeliverer)) {
    at = kExited;
  } else if (config_.sleeps_under_lock) {
    DelivererSleeps(state, coin);
  } else {
    at = kFallsAsleep;
  }
}

// NextLook(): once it is none there is none before what is expected next.
void HandOverModel::DelivererSleeps(State& state, Coin& coin) const {
  state.expects =
      static_cast<int8_t>(state.expects != 0 && !coin.Toss() ? 1 : 0);
  state.timer = state.expects;
  state.at[kDeliverer] = kSleeps;
}

}  // namespace ferry
