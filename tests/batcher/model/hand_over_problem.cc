// What must hold always, and while nobody moves but who computes.
#include <algorithm>

#include "tests/batcher/model/hand_over_model.h"

namespace ferry {

const char* HandOverModel::Wrong(const State& state) const {
  switch (state.fault) {
    case kNotFirstStaged:
      return "a batch is computed that is not the first staged";
    case kTwoOnLane:
      return "a lane runs two batches at once";
    case kComputedTwice:
      return "a batch is computed twice";
    case kTwoStagings:
      return "two batches are staged at once";
    case kNoPlace:
      return "a batch is staged where there is no place";
    case kSlotTwice:
      return "a slot is reported twice, or too early";
    case kDeliveredTwice:
      return "a batch is delivered twice, or too early";
    default:
      return "";
  }
}

const char* HandOverModel::Problem(const State& state) const {
  const bool computes =
      std::count(state.at, state.at + kActors, +kComputes) > 0;
  if (state.has_stepper != 0) {
    return "the stepper is stuck";
  }
  if (state.to_stage.size > 0) {
    return "the stager sleeps beside work";
  }
  if (state.to_compute.size > 0 && !computes) {
    return "the lane sleeps beside work";
  }
  if (state.to_deliver.size > 0) {
    return "the deliverer sleeps beside work";
  }
  if (state.finished != state.ends) {
    return "a batch is never delivered";
  }
  if (state.owed_slots > 0 ||
      state.free_slots != kSlots - (state.started - state.ends)) {
    return "a slot is never reported";
  }
  if (computes) {
    return "";
  }
  if (state.came != config_.batches || state.started != state.came) {
    return "a batch is never started";
  }
  if (state.ends != state.started) {
    return "a batch is lost";
  }
  if (state.in_flight != 0 || state.staged != state.started ||
      state.placed.size != 0 || state.is_lane_locked != 0) {
    return "something was miscounted";
  }
  if (config_.is_closed && state.at[kCloser] != kClosed) {
    return "a backend never ends";
  }
  return "";
}

}  // namespace ferry
