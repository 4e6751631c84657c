// The programs of the threads; comments name the lines they stand for.
#include "tests/batcher/model/wake_up_model.h"

#include <algorithm>

namespace ferry {
WakeUpModel::State WakeUpModel::Start() const {
  State state;
  state.free_slots = static_cast<int8_t>(config_.slots);
  return state;
}

bool WakeUpModel::Step(State& state, int thread) const {
  if (thread == 0) {
    return StepOwnThread(state);
  }
  return thread <= config_.producers
             ? StepProducer(state, thread - 1)
             : StepBatch(state, thread - 1 - config_.producers);
}

bool WakeUpModel::StepNotify(State& state, int actor, int8_t first) const {
  int8_t& at = state.at[actor];
  if (at == first) {  // load the word
    if (state.is_waiting != 0) {
      state.seen[actor] = state.wake_ups;
      at = static_cast<int8_t>(first + 1);
    } else {
      at = static_cast<int8_t>(first + 2);
    }
    return true;
  }
  // Compare and swap the word; the futex wakes who sleeps on it.
  if (state.is_waiting != 0 && state.wake_ups == state.seen[actor]) {
    state.is_waiting = 0;
    ++state.wake_ups;
    if (state.at[kOwnThread] == kAsleep) {
      state.at[kOwnThread] = 0;
      state.key = 0;
    }
  }
  state.seen[actor] = 0;
  at = static_cast<int8_t>(first + 2);
  return true;
}

bool WakeUpModel::StepAsk(State& state, int actor, int8_t first) const {
  int8_t& at = state.at[actor];
  switch (at - first) {
    case 0:  // StepRole::Ask()
      if (state.asked++ == 0) {
        state.has_stepper = 1;
        state.step_at = 0;
        state.steps = 0;
        ++at;
      } else {
        at = static_cast<int8_t>(first + 5);
      }
      return true;
    case 1:
      switch (StepAsStepper(state, /*has_limit=*/true)) {
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
    case 2:
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

// Batcher::Submit().
bool WakeUpModel::StepProducer(State& state, int producer) const {
  const auto request = static_cast<int8_t>(producer);
  int8_t& at = state.at[producer];
  switch (at) {
    case 0:  // TryAdmit()
      ++state.rows;
      at = 1;
      return true;
    case 1:  // PushList: read the head and link
      state.seen[producer] = state.head;
      state.next[request] = state.head;
      at = 2;
      return true;
    case 2:  // compare and swap the head; else read and link again
      if (state.head == state.seen[producer]) {
        state.head = request;
        state.seen[producer] = 0;
        at = 3;
      } else {
        state.seen[producer] = state.head;
        state.next[request] = state.head;
      }
      return true;
    case 3:  // IsNews()
      at = state.rows >= state.wake_at_rows ? 9 : 4;
      return true;
    case 4:
      at = config_.deadline_wakes && DueOf(request) < state.wait_until ? 9 : 5;
      return true;
    case 5:
      at = config_.producer_looks_for_slots ? 6 : 14;
      return true;
    default:
      return StepSlotAwaitsRows(state, producer);
  }
}

// SlotAwaitsRows(), one load after the other, then AskForStep(); from step 6
// on.
bool WakeUpModel::StepSlotAwaitsRows(State& state, int actor) const {
  int8_t& at = state.at[actor];
  switch (at) {
    case 6:
      at = state.wants_slot != 0 ? 7 : 14;
      return true;
    case 7:
      at = state.free_slots > 0 ? 8 : 14;
      return true;
    case 8:
      at = state.rows > 0 ? 9 : 14;
      return true;
    case 14:
      return false;
    default:
      return StepAsk(state, actor, 9);
  }
}

// BackendEvents of one batch: ComputeEnded(), SlotFree().
bool WakeUpModel::StepBatch(State& state, int batch) const {
  if (batch >= state.batches) {
    return false;
  }
  const int actor = kFirstBatch + batch;
  int8_t& at = state.at[actor];
  switch (at) {
    case 0:
      if (batch > 0 && state.at[actor - 1] == 0) {
        return false;  // the lane computes one after the other
      }
      ++state.ends;
      at = 1;
      return true;
    case 1:
      at = config_.lane_wakes && state.wants_lane != 0 ? 20 : 2;
      return true;
    case 2:
    case 25:  // after StepAsk()
      ++state.free_slots;
      at = 6;
      return true;
    default:
      return at >= 20 ? StepAsk(state, actor, 20)
                      : StepSlotAwaitsRows(state, actor);
  }
}

// Batcher::Run(), SetAlarm(), EventCount::Wait().
bool WakeUpModel::StepOwnThread(State& state) const {
  int8_t& at = state.at[kOwnThread];
  switch (at) {
    case 0:  // PrepareWait()
      state.is_waiting = 1;
      state.key = state.wake_ups;
      at = 1;
      return true;
    case 1:
      if (state.is_handed_over != 0) {
        state.is_handed_over = 0;
        state.step_at = 0;
        at = 10;
      } else {
        at = 2;
      }
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
      if (state.asked++ == 0) {
        state.has_stepper = 1;
        state.step_at = 0;
        at = 10;
      } else {
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
      at = state.is_waiting != 0 && state.wake_ups == state.key ? kAsleep : 8;
      return true;
    case 8:  // CancelWait()
      state.key = 0;
      state.is_waiting = 0;
      at = 0;
      return true;
    case 10:  // CancelWait()
      state.key = 0;
      state.is_waiting = 0;
      at = 11;
      return true;
    case 11:  // its own alarm is set when it is back at the top
      if (StepAsStepper(state, /*has_limit=*/false) == Role::kLeft) {
        state.until = 0;
        at = 0;
      }
      return true;
    default:
      return false;
  }
}

bool WakeUpModel::PassTime(State& state) const {
  if (state.at[kOwnThread] != kAsleep || state.alarm == kNever) {
    return false;
  }
  state.now = state.alarm;
  state.at[kOwnThread] = 8;
  return true;
}

const char* WakeUpModel::Problem(const State& state) const {
  if (state.at[kOwnThread] != kAsleep) {
    return "the own thread is stuck";
  }
  if (state.has_stepper != 0) {
    return "the stepper is stuck";
  }
  for (int request = 0; request < config_.producers; ++request) {
    if (state.started[request] > 1) {
      return "a request was started twice";
    }
    if (state.started[request] == 1) {
      continue;
    }
    if (state.alarm == kNever) {
      return "a request waits for ever";
    }
    if (DueOf(request) < state.alarm && state.now < DueOf(request)) {
      return "the alarm is set past a deadline";
    }
    if (!config_.waits_for_rows) {
      return "a request waits beside an idle lane";
    }
    if (state.rows >= config_.batch_rows) {
      return "a full batch waits";
    }
  }
  return "";
}

}  // namespace ferry
