// The programs of the threads; comments name the lines they stand for.
#include "tests/batcher/model/wake_up_model.h"

#include <algorithm>
#include <bit>

namespace ferry {
namespace {

constexpr int8_t kLeaveAt = 5;     // when a window ends
constexpr int8_t kLaneFreeAt = 3;  // just in time

int Count(int8_t bits) { return std::popcount(static_cast<uint8_t>(bits)); }

}  // namespace

WakeUpModel::State WakeUpModel::Start() const {
  State state;
  state.free_slots = static_cast<int8_t>(config_.slots);
  return state;
}

bool WakeUpModel::Step(State& state, int thread) const {
  if (thread == 0) {
    return StepBatcher(state);
  }
  return thread <= config_.producers
             ? StepProducer(state, thread - 1)
             : StepBatch(state, thread - 1 - config_.producers);
}

bool WakeUpModel::StepNotify(State& state, int actor, int8_t first) const {
  int8_t& at = state.at[actor];
  if (at == first) {  // load the word
    state.seen[actor] = state.wake_ups;
    at = state.is_waiting != 0 ? static_cast<int8_t>(first + 1)
                               : static_cast<int8_t>(first + 2);
    return true;
  }
  // Compare and swap the word; the futex wakes who sleeps on it.
  if (state.is_waiting != 0 && state.wake_ups == state.seen[actor]) {
    state.is_waiting = 0;
    ++state.wake_ups;
    if (state.batcher_at == kAsleep) {
      state.batcher_at = 19;
    }
  }
  at = static_cast<int8_t>(first + 2);
  return true;
}

// Batcher::Submit() and Wake().
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
        at = 3;
      } else {
        state.seen[producer] = state.head;
        state.next[request] = state.head;
      }
      return true;
    case 3:
      at = state.rows >= state.wake_at_rows ? 9 : 4;
      return true;
    case 4:
      at = config_.deadline_wakes && DueOf(request) < state.wait_until ? 9 : 5;
      return true;
    case 5:
      at = config_.producer_looks_for_slots ? 6 : 11;
      return true;
    default:
      return StepSlotAwaitsRows(state, producer);
  }
}

// SlotAwaitsRows(), one load after the other, then Notify(); from step 6 on.
bool WakeUpModel::StepSlotAwaitsRows(State& state, int actor) const {
  int8_t& at = state.at[actor];
  switch (at) {
    case 6:
      at = state.wants_slot != 0 ? 7 : 11;
      return true;
    case 7:
      at = state.free_slots > 0 ? 8 : 11;
      return true;
    case 8:
      at = state.rows > 0 ? 9 : 11;
      return true;
    case 9:
    case 10:
      return StepNotify(state, actor, 9);
    default:
      return false;
  }
}

// BackendEvents of one batch: ComputeEnded(), SlotFree().
bool WakeUpModel::StepBatch(State& state, int batch) const {
  if (batch >= state.batches) {
    return false;
  }
  const int actor = 3 + batch;
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
      at = config_.lane_wakes && state.wants_lane != 0 ? 2 : 4;
      return true;
    case 2:
    case 3:
      return StepNotify(state, actor, 2);
    case 4:
      ++state.free_slots;
      at = 6;
      return true;
    default:
      return StepSlotAwaitsRows(state, actor);
  }
}

// Batcher::Run(), Step(), PublishWait(), HasNews(), EventCount::Wait().
bool WakeUpModel::StepBatcher(State& state) const {
  int8_t& at = state.batcher_at;
  switch (at) {
    case 0:  // PrepareWait()
      state.is_waiting = 1;
      state.key = state.wake_ups;
      at = 1;
      return true;
    case 1:  // TakePushed(): one exchange; the list is nobody else's then
      for (int8_t request = state.head; request != kNone;
           request = state.next[request]) {
        state.queued = static_cast<int8_t>(state.queued | 1 << request);
      }
      state.head = kNone;
      at = 2;
      return true;
    case 2:
      state.free_seen = state.free_slots;
      at = 3;
      return true;
    case 3:  // TakeComputeEnds(), then the policy, on what this thread owns
      state.ends_seen = state.ends;
      Decide(state);
      return true;
    case 4:  // StartBatch(): the rows leave, then the slot
      state.rows = static_cast<int8_t>(state.rows - Count(state.queued));
      for (int request = 0; request < 3; ++request) {
        if ((state.queued >> request & 1) != 0) {
          ++state.started[request];
        }
      }
      state.queued = 0;
      at = 5;
      return true;
    case 5:
      --state.free_slots;
      ++state.batches;
      at = 2;
      return true;
    case 10:  // PublishWait()
      state.wait_until = state.until;
      at = 11;
      return true;
    case 11:
      state.wake_at_rows = state.wake_at;
      at = 12;
      return true;
    case 12:
      state.wants_slot = state.free_seen == 0 ? 1 : 0;
      at = 13;
      return true;
    case 13:
      state.wants_lane = state.wants_lane_next;
      at = config_.looks_before_sleeping ? 14 : 18;
      return true;
    case 14:  // HasNews()
      at = state.head != kNone ? 19 : 15;
      return true;
    case 15:
      at = state.wants_slot != 0 && state.free_slots > 0 ? 16 : 17;
      return true;
    case 16:
      at = state.rows > 0 ? 19 : 17;
      return true;
    case 17:
      at = state.wants_lane != 0 && state.ends != state.ends_seen ? 19 : 18;
      return true;
    case 18:  // the futex compares and sleeps in one
      at = state.is_waiting != 0 && state.wake_ups == state.key ? kAsleep : 19;
      return true;
    case 19:  // CancelWait()
      state.is_waiting = 0;
      at = 0;
      return true;
    default:
      return false;
  }
}

// The policy on what is queued; what it waits for is published afterwards.
void WakeUpModel::Decide(State& state) const {
  const bool lane_is_idle = state.batches == state.ends_seen;
  const int rows = Count(state.queued);
  state.until = kNever;
  state.wake_at = kNever;
  state.wants_lane_next = 0;
  state.batcher_at = 10;
  if (state.free_seen > 0 && rows == 0) {
    state.wake_at = 1;
  } else if (state.free_seen > 0) {
    state.wants_lane_next = 1;
    if (!lane_is_idle && state.now < kLaneFreeAt) {
      state.until = kLaneFreeAt;
    } else if (config_.waits_for_rows && rows < config_.batch_rows &&
               state.now < kLeaveAt) {
      state.until = kLeaveAt;
      state.wake_at = static_cast<int8_t>(config_.batch_rows);
    } else {
      state.batcher_at = 4;
    }
  }
  for (int request = 0; request < config_.producers; ++request) {
    if ((state.queued >> request & 1) != 0 && state.now < DueOf(request)) {
      state.until = std::min(state.until, DueOf(request));
    }
  }
}

bool WakeUpModel::PassTime(State& state) const {
  if (state.batcher_at != kAsleep || state.wait_until == kNever) {
    return false;
  }
  state.now = state.wait_until;
  state.batcher_at = 19;
  return true;
}

const char* WakeUpModel::Problem(const State& state) const {
  if (state.batcher_at != kAsleep) {
    return "the batcher is stuck";
  }
  for (int request = 0; request < config_.producers; ++request) {
    if (state.started[request] > 1) {
      return "a request was started twice";
    }
    if (state.started[request] == 1) {
      continue;
    }
    if (state.wait_until == kNever) {
      return "a request waits for ever";
    }
    if (DueOf(request) < state.wait_until && state.now < DueOf(request)) {
      return "the batcher sleeps past a deadline";
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
