// The programs of the threads; comments name the lines they stand for.
#include "tests/batcher/model/wake_up_model.h"

#include <algorithm>

namespace ferry {

WakeUpModel::State WakeUpModel::Start() const {
  State state;
  state.free_slots = static_cast<int8_t>(config_.slots);
  return state;
}

Move WakeUpModel::Step(State& state, int choice) const {
  const int actor = choice / 2;
  const int8_t at = state.at[actor];
  const bool is_backend = actor >= kFirstBatch && actor < kOwnThread;
  const bool is_slow = is_backend
                           ? at == (config_.lanes > 0 ? kComputes : 0)
                           : actor < kFirstBatch && at == kComputesInline;
  const bool has_second =
      config_.lanes > 1 || (config_.lanes == 1 && is_backend);
  if (choice % 2 == 1 && !has_second) {
    return Move::kNone;
  }
  if (!StepActor(state, actor, choice % 2 == 1)) {
    return Move::kNone;
  }
  MakeEqual(state);
  return is_slow ? Move::kSlow : Move::kMoved;
}

bool WakeUpModel::StepActor(State& state, int actor, bool is_second) const {
  switch (actor) {
    case kOwnThread:
      return StepOwnThread(state, is_second);
    case kCanceller:
      return config_.is_cancelled && StepCanceller(state, is_second);
    case kDrainer:
      return config_.is_drained && StepDrainer(state, is_second);
    default:
      break;
  }
  if (actor < kFirstBatch) {
    return actor < config_.producers && StepProducer(state, actor, is_second);
  }
  if (config_.lanes == 0) {
    return StepBatch(state, actor - kFirstBatch);
  }
  return actor - kFirstBatch < config_.lanes &&
         StepLane(state, actor - kFirstBatch, is_second);
}

bool WakeUpModel::StepNotify(State& state, int actor, int8_t first) const {
  int8_t& at = state.at[actor];
  if (at == first) {  // load the word
    state.has_seen_word[actor] = state.is_waiting;
    at = static_cast<int8_t>(first + (state.is_waiting != 0 ? 1 : 2));
    return true;
  }
  // Compare and swap the word; the futex wakes who sleeps on it.
  if (state.is_waiting != 0 && state.has_seen_word[actor] != 0) {
    state.is_waiting = 0;
    state.key_is_current = 0;
    std::fill_n(state.has_seen_word, kActors, int8_t{0});
    if (state.at[kOwnThread] == kAsleep) {
      state.at[kOwnThread] = 0;
    }
  }
  state.has_seen_word[actor] = 0;
  at = static_cast<int8_t>(first + 2);
  return true;
}

bool WakeUpModel::StepAsk(State& state, int actor, int8_t first,
                          bool is_second) const {
  int8_t& at = state.at[actor];
  switch (at - first) {
    case 0:  // StepRole::Ask()
      if (state.is_asked == 0) {
        state.is_asked = 1;
        state.has_stepper = 1;
        ++at;
      } else {
        state.is_asked_anew = 1;
        at = static_cast<int8_t>(first + 5);
      }
      return true;
    case 1:
      switch (StepAsStepper(state, /*has_limit=*/true, is_second)) {
        case Role::kKept:
          break;
        case Role::kLeft:
          state.left_until[actor] = state.until;
          state.until = 0;
          ++at;
          break;
        case Role::kHandedOver:
          at = static_cast<int8_t>(first + 3);
          break;
      }
      return true;
    case 2:  // SeeToAlarm()
      at = static_cast<int8_t>(config_.sets_alarm_forth &&
                                       state.left_until[actor] < state.alarm
                                   ? first + 3
                                   : first + 5);
      state.left_until[actor] = 0;
      return true;
    default:
      return StepNotify(state, actor, static_cast<int8_t>(first + 3));
  }
}

// SlotAwaitsRows(), one load after the other, then AskForStep().
bool WakeUpModel::StepSlotAwaitsRows(State& state, int actor, int8_t first,
                                     int8_t end, bool is_second) const {
  int8_t& at = state.at[actor];
  const auto next = static_cast<int8_t>(at + 1);
  switch (at - first) {
    case 0:
      at = state.awaited_slots != 0 ? next : end;
      return true;
    case 1:
      at = state.free_slots >= state.awaited_slots ? next : end;
      return true;
    case 2:
      at = state.rows > 0 ? next : end;
      return true;
    default:
      StepAsk(state, actor, static_cast<int8_t>(first + 3), is_second);
      at = at == first + 8 ? end : at;
      return true;
  }
}

// One thread reports all; others may: hand_over_run.cc.
bool WakeUpModel::StepEvents(State& state, int actor, int8_t first,
                             bool is_second) const {
  int8_t& at = state.at[actor];
  const auto step = [first](int offset) {
    return static_cast<int8_t>(first + offset);
  };
  const int8_t slot_free = step(config_.is_drained ? 7 : 14);
  switch (at - first) {
    case 0:  // ComputeEnded()
      ++state.ends;
      at = step(1);
      return true;
    case 1:
      at = config_.lane_wakes && state.wants_lane != 0 ? step(2) : slot_free;
      return true;
    case 7:  // Finished()
      ++state.finished;
      at = step(8);
      return true;
    case 8:
      at = step(config_.finished_wakes_drain && state.is_closed != 0 ? 9 : 14);
      return true;
    case 14:  // SlotFree()
      ++state.free_slots;
      at = step(15);
      return true;
    default:
      break;
  }
  if (at >= step(15)) {
    return StepSlotAwaitsRows(state, actor, step(15), step(24), is_second);
  }
  if (at >= step(9)) {
    return StepAsk(state, actor, step(9), is_second);
  }
  StepAsk(state, actor, step(2), is_second);
  at = at == step(7) ? slot_free : at;
  return true;
}

// A lane that computes one batch after the other, and is never woken.
bool WakeUpModel::StepBatch(State& state, int batch) const {
  const int actor = kFirstBatch + batch;
  if (batch >= state.batches || state.at[actor] == 24 ||
      (batch > 0 && state.at[actor] == 0 && state.at[actor - 1] == 0)) {
    return false;
  }
  return StepEvents(state, actor, 0, /*is_second=*/false);
}

// Batcher::Run(), SetAlarm(), EventCount::Wait().
bool WakeUpModel::StepOwnThread(State& state, bool is_second) const {
  int8_t& at = state.at[kOwnThread];
  switch (at) {
    case 0:  // PrepareWait()
      state.is_waiting = 1;
      state.key_is_current = 1;
      at = 1;
      return true;
    case 1:
      at = state.is_handed_over != 0 ? 10 : 2;
      state.is_handed_over = 0;
      return true;
    case 2:
      state.own_until = state.wait_until;
      at = state.now >= state.own_until ? 3 : 5;
      return true;
    case 3:
      state.own_until = 0;
      state.alarm = kNever;
      at = 4;
      return true;
    case 4:
      if (state.is_asked == 0) {
        state.is_asked = 1;
        state.has_stepper = 1;
        at = 10;
      } else {
        state.is_asked_anew = 1;
        at = 7;
      }
      return true;
    case 5:
      state.alarm = state.own_until;
      at = 6;
      return true;
    case 6:
      at = config_.looks_after_alarm && state.wait_until < state.own_until ? 2
                                                                           : 7;
      state.own_until = 0;
      return true;
    case 7:  // the futex compares and sleeps in one
      at = state.is_waiting != 0 && state.key_is_current != 0 ? kAsleep : 8;
      return true;
    case 8:  // CancelWait()
    case 10:
      state.key_is_current = 0;
      state.is_waiting = 0;
      at = at == 8 ? 0 : 11;
      return true;
    case 11:  // its own alarm is set when it is back at the top
      if (StepAsStepper(state, /*has_limit=*/false, is_second) == Role::kLeft) {
        state.until = 0;
        at = 0;
      }
      return true;
    default:  // asleep
      if (state.now < state.alarm) {
        return false;
      }
      at = 8;
      return true;
  }
}

}  // namespace ferry
