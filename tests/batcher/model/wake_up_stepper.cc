// The program of whoever is the stepper; comments name the lines they stand
// for.
#include <algorithm>
#include <bit>

#include "tests/batcher/model/wake_up_model.h"

namespace ferry {
namespace {

constexpr int8_t kLeaveAt = 5;     // when a window ends
constexpr int8_t kLaneFreeAt = 3;  // just in time

// What is of no use any more is set to 0, or equal states would count as many.
void ForgetStep(WakeUpModel::State& state) {
  state.step_at = 0;
  state.steps = 0;
  state.role_seen = 0;
  state.free_seen = 0;
  state.wake_at = 0;
  state.wants_lane_next = 0;
}

int Count(int8_t bits) { return std::popcount(static_cast<uint8_t>(bits)); }

}  // namespace

// Batcher::StepOn(), Step(), PublishWait(), HasNews().
WakeUpModel::Role WakeUpModel::StepAsStepper(State& state,
                                             bool has_limit) const {
  int8_t& at = state.step_at;
  switch (at) {
    case 0:  // StepRole::Begin()
      state.role_seen = state.asked;
      state.steps =
          static_cast<int8_t>(std::min(state.steps + 1, +config_.max_steps));
      at = 1;
      return Role::kKept;
    case 1:  // TakePushed(): one exchange; the list is nobody else's then
      for (int8_t request = state.head; request != kNone;
           request = state.next[request]) {
        state.queued = static_cast<int8_t>(state.queued | 1 << request);
      }
      state.head = kNone;
      std::fill_n(state.next, 3, kNone);
      at = 2;
      return Role::kKept;
    case 2:
      state.free_seen = state.free_slots;
      at = 3;
      return Role::kKept;
    case 3:  // TakeComputeEnds(), then the policy, on what the stepper owns
      state.ends_seen = state.ends;
      Decide(state);
      return Role::kKept;
    case 4:  // StartBatch(): the rows leave, then the slot
      state.rows = static_cast<int8_t>(state.rows - Count(state.queued));
      for (int request = 0; request < 3; ++request) {
        if ((state.queued >> request & 1) != 0) {
          ++state.started[request];
        }
      }
      state.queued = 0;
      at = 5;
      return Role::kKept;
    case 5:
      --state.free_slots;
      ++state.batches;
      at = 2;
      return Role::kKept;
    case 10:  // PublishWait()
      state.wait_until = state.until;
      at = 11;
      return Role::kKept;
    case 11:
      state.wake_at_rows = state.wake_at;
      at = 12;
      return Role::kKept;
    case 12:
      state.wants_slot = state.free_seen == 0 ? 1 : 0;
      at = 13;
      return Role::kKept;
    case 13:
      state.wants_lane = state.wants_lane_next;
      at = config_.looks_before_leaving ? 14 : 18;
      return Role::kKept;
    case 14:  // HasNews()
      at = state.head != kNone ? 19 : 15;
      return Role::kKept;
    case 15:
      at = state.wants_slot != 0 && state.free_slots > 0 ? 16 : 17;
      return Role::kKept;
    case 16:
      at = state.rows > 0 ? 19 : 17;
      return Role::kKept;
    case 17:
      at = state.wants_lane != 0 && state.ends != state.ends_seen ? 19 : 18;
      return Role::kKept;
    case 18:  // TryLeave()
      if (config_.sees_who_asked && state.asked != state.role_seen) {
        at = 19;
        return Role::kKept;
      }
      ForgetStep(state);
      state.asked = 0;
      state.has_stepper = 0;
      return Role::kLeft;
    default:  // once more, or the rest is left to the own thread
      if (has_limit && state.steps == config_.max_steps) {
        ForgetStep(state);
        state.until = 0;
        state.is_handed_over = 1;
        return Role::kHandedOver;
      }
      at = 0;
      return Role::kKept;
  }
}

// The policy on what is queued; what it waits for is published afterwards.
void WakeUpModel::Decide(State& state) const {
  const bool lane_is_idle = state.batches == state.ends_seen;
  const int rows = Count(state.queued);
  state.until = kNever;
  state.wake_at = kNever;
  state.wants_lane_next = 0;
  state.step_at = 10;
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
      state.step_at = 4;
    }
  }
  for (int request = 0; request < config_.producers; ++request) {
    if ((state.queued >> request & 1) != 0 && state.now < DueOf(request)) {
      state.until = std::min(state.until, DueOf(request));
    }
  }
}

}  // namespace ferry
