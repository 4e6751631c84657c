// How a batch runs, by the lane or by a caller, and what is told of it;
// comments name the lines they stand for.
#include <algorithm>

#include "tests/batcher/model/hand_over_model.h"

namespace ferry {

// HostBackend::RunBatch().
void HandOverModel::StepRun(State& state, int actor, Coin& coin) const {
  int8_t& at = state.at[actor];
  const int8_t batch = state.batch[actor];
  switch (at) {
    case kRuns:
      at = (state.is_staged >> batch & 1) != 0 ? kBegins : kStages;
      return;
    case kStages:
    case kStaged:
      StepStage(state, actor, kBegins);
      return;
    case kBegins:  // Compute(): Expect(), if it knows how long it will take
      if (std::count(state.at, state.at + kActors, +kComputes) > 0) {
        state.fault = kTwoOnLane;
      } else if (state.placed.size == 0 || state.placed.items[0] != batch) {
        state.fault = kNotFirstStaged;
      }
      state.expects = static_cast<int8_t>(coin.Toss() ? 1 : state.expects);
      at = kComputes;
      return;
    case kComputes:
      state.placed.Pop();
      if ((state.is_computed >> batch & 1) != 0) {
        state.fault = kComputedTwice;
      }
      state.is_computed = static_cast<int8_t>(state.is_computed | 1 << batch);
      at = kEnds;
      return;
    case kEnds:  // ComputeEnded()
      ++state.ends;
      AskThen(state, actor, kUncounts);
      return;
    case kUncounts:  // then DeliversInline(): either
      --state.in_flight;
      state.delivers[actor] = coin.Toss() ? 1 : 0;
      if (state.delivers[actor] != 0) {
        at = kFinishes;
      } else {
        at = config_.owes_before_push ? kOwes : kHasWork;
      }
      return;
    default:
      StepHandOver(state, actor, coin);
      return;
  }
}

// The rest of it.
void HandOverModel::StepHandOver(State& state, int actor, Coin& coin) const {
  int8_t& at = state.at[actor];
  const bool is_inline = state.delivers[actor] != 0 && config_.delivers_once;
  const At last = config_.owes_before_push ? kLeaves : kOwes;
  switch (at) {
    case kFinishes:
      StepFinished(state, actor, kOwes);
      return;
    case kOwes:
      ++state.owed_slots;
      at = config_.owes_before_push || is_inline ? kHasWork : kLeaves;
      return;
    case kHasWork:
    case kHasWorkNow: {
      const bool goes_on = state.to_compute.size > 0;
      const bool frees = at == kHasWork && (is_inline || !goes_on);
      state.goes_on[actor] = goes_on ? 1 : 0;
      if (frees && config_.lane_reports) {
        at = kFrees;
      } else {
        at = is_inline ? kLeaves : kHandsOver;
      }
      return;
    }
    case kFrees:
    case kSubtracts:
    case kReports:
      StepFreeSlots(state, actor, is_inline ? kLeaves : kHasWorkNow);
      return;
    case kHandsOver: {  // DeliveryQueue::Push()
      bool must_wake = true;
      if (state.goes_on[actor] != 0) {  // it has patience
        must_wake = state.timer == 0 ? config_.wakes_if_no_timer
                                     : coin.Toss();  // it would look too late
      }
      state.to_deliver.Push(state.batch[actor]);
      at = must_wake ? kSignals : last;
      return;
    }
    case kSignals:
      Signal(state, kDeliverer);
      at = last;
      return;
    default:
      state.is_lane_locked = 0;
      state.delivers[actor] = 0;
      state.goes_on[actor] = 0;
      state.batch[actor] = kNone;
      at = kLooks;
      return;
  }
}

// HostBackend::Stage().
void HandOverModel::StepStage(State& state, int actor, At end) const {
  const int8_t batch = state.batch[actor];
  if (state.at[actor] == kStages) {
    if (state.stagings > 0) {
      state.fault = kTwoStagings;
    } else if (state.placed.size == kSlots) {
      state.fault = kNoPlace;
    }
    ++state.stagings;
    state.staged =
        static_cast<int8_t>(state.staged + !config_.counts_when_staged);
    state.at[actor] = kStaged;
    return;
  }
  --state.stagings;
  state.placed.Push(batch);
  state.is_staged = static_cast<int8_t>(state.is_staged | 1 << batch);
  state.staged = static_cast<int8_t>(state.staged + config_.counts_when_staged);
  state.at[actor] = end;
}

// HostBackend::FreeSlots().
void HandOverModel::StepFreeSlots(State& state, int actor, At end) const {
  int8_t& at = state.at[actor];
  int8_t& owed = state.owed[actor];
  switch (at) {
    case kFrees:
      owed = state.owed_slots;
      if (config_.exchanges_owed) {
        state.owed_slots = 0;
        at = owed > 0 ? kReports : end;
      } else {
        at = kSubtracts;
      }
      return;
    case kSubtracts:
      state.owed_slots = static_cast<int8_t>(state.owed_slots - owed);
      at = owed > 0 ? kReports : end;
      return;
    default:  // SlotFree()
      --owed;
      ++state.free_slots;
      if (state.free_slots > kSlots - (state.started - state.ends)) {
        state.fault = kSlotTwice;
      }
      AskThen(state, actor, owed > 0 ? kReports : end);
      return;
  }
}

// Batcher::Finished().
void HandOverModel::StepFinished(State& state, int actor, At end) const {
  const int bit = 1 << state.batch[actor];
  if ((state.is_delivered & bit) != 0 || (state.is_computed & bit) == 0) {
    state.fault = kDeliveredTwice;
  }
  state.is_delivered = static_cast<int8_t>(state.is_delivered | bit);
  ++state.finished;
  AskThen(state, actor, end);
}

}  // namespace ferry
