// The program of whoever is the stepper; comments name the lines they stand
// for.
#include <algorithm>
#include <bit>
#include <utility>

#include "tests/batcher/model/wake_up_model.h"

namespace ferry {
namespace {

constexpr int8_t kLeaveAt = 5;  // when a window ends

// What is of no use any more is set to 0, or equal states would count as many.
void ForgetStep(WakeUpModel::State& state) {
  state.step_at = 0;
  state.steps = 0;
}

int Count(int8_t bits) { return std::popcount(static_cast<uint8_t>(bits)); }

bool Has(int8_t bits, int request) { return (bits >> request & 1) != 0; }

}  // namespace

// Batcher::StepOn(), Step(), PublishWait().
WakeUpModel::Role WakeUpModel::StepAsStepper(State& state, bool has_limit,
                                             bool is_second) const {
  int8_t& at = state.step_at;
  switch (at) {
    case 0:  // StepRole::Begin()
      state.is_asked_anew = 0;
      if (has_limit) {
        state.steps =
            static_cast<int8_t>(std::min(state.steps + 1, +config_.max_steps));
      }
      at = config_.is_drained ? 20 : 1;
      return Role::kKept;
    case 20:  // TakeFinished()
      state.finished_seen = state.finished;
      at = 1;
      return Role::kKept;
    case 1:  // TakePushed(): one exchange; the list is nobody else's then
      for (int8_t request = state.head; request != kNone;
           request = state.next[request]) {
        state.queued = static_cast<int8_t>(state.queued | 1 << request);
      }
      state.head = kNone;
      std::fill_n(state.next, 3, kNone);
      at = config_.is_cancelled ? 21 : 2;
      return Role::kKept;
    case 21:
      if (Has(state.queued, 0) && state.is_cancelled != 0) {
        AnswerQueued(state, 0);
      }
      at = 22;
      return Role::kKept;
    case 22:  // TakeCancelled()
      if (std::exchange(state.cancelled_list, int8_t{0}) != 0) {
        if (Has(state.queued, 0)) {
          AnswerQueued(state, 0);
        }
        --state.holds;
      }
      at = 2;
      return Role::kKept;
    case 2:  // AnswerExpired(), one after the other
      for (int request = 0; request < config_.producers; ++request) {
        if (Has(state.queued, request) && DueOf(request) <= state.now) {
          AnswerQueued(state, request);
          return Role::kKept;
        }
      }
      state.free_seen = state.free_slots;
      at = config_.is_drained ? 23 : 3;
      return Role::kKept;
    case 23:
      state.closed_seen = state.is_closed;
      at = 3;
      return Role::kKept;
    case 3:  // TakeComputeEnds(), then the policy, on what the stepper owns
      state.ends_seen = state.ends;
      Decide(state);
      state.closed_seen = 0;
      if (state.step_at == 4) {
        state.free_seen = 0;
        state.until = 0;
        state.wake_at = 0;
        state.wants_lane_next = 0;
      }
      return Role::kKept;
    case 4:  // StartBatch(): cancelled ones are answered, then others may be
             // next; else the rows leave, then the slot
      if (config_.is_cancelled && Has(state.queued, 0) &&
          state.is_cancelled != 0) {
        AnswerQueued(state, 0);
        at = 2;
        return Role::kKept;
      }
      state.rows = static_cast<int8_t>(state.rows - Count(state.queued));
      for (int request = 0; request < 3; ++request) {
        if (Has(state.queued, request)) {
          ++state.ended[request];
        }
      }
      if (config_.is_cancelled && Has(state.queued, 0)) {
        --state.holds;
      }
      state.queued = 0;
      at = 5;
      return Role::kKept;
    case 5:
      --state.free_slots;
      ++state.batches;
      at = config_.lanes > 0 ? 6 : 2;
      return Role::kKept;
    case 6:  // HostBackend::Start(), WorkQueue::Push()
      if (state.is_inline != 0 && state.inline_work == 0) {
        state.inline_work = 1;
        at = 2;
        return Role::kKept;
      }
      ++state.items;
      at = MustWake(state) ? 7 : 2;
      return Role::kKept;
    case 7:
      Signal(state, is_second);
      at = 2;
      return Role::kKept;
    case 10:  // PublishWait()
      state.wait_until = state.until;
      at = 11;
      return Role::kKept;
    case 11:
      state.wake_at_rows = std::exchange(state.wake_at, int8_t{0});
      at = 12;
      return Role::kKept;
    case 12:
      state.awaited_slots = 0;
      if (state.free_seen == 0 ||
          (config_.awaits_one_more && TakesOnlyFull(state.free_seen))) {
        state.awaited_slots = static_cast<int8_t>(state.free_seen + 1);
      }
      state.free_seen = 0;
      at = 13;
      return Role::kKept;
    case 13:
      state.wants_lane = std::exchange(state.wants_lane_next, int8_t{0});
      at = config_.is_drained ? 24 : 14;
      return Role::kKept;
    case 24:  // TellIfDrained()
      at = state.is_closed != 0 ? 25 : 14;
      return Role::kKept;
    case 25:
      if (state.rows == 0 && state.batches == state.finished_seen) {
        state.is_drained = 1;
      }
      at = 14;
      return Role::kKept;
    default:
      return StepToLeave(state, has_limit);
  }
}

WakeUpModel::Role WakeUpModel::StepToLeave(State& state, bool has_limit) const {
  int8_t& at = state.step_at;
  switch (at) {
    case 14:  // HasNews()
      at = 15;
      if (!config_.looks_before_leaving) {
        at = 18;
      } else if (state.head != kNone) {
        at = 19;
      } else if (config_.is_cancelled) {
        at = 26;
      } else if (config_.is_drained) {
        at = 27;
      }
      return Role::kKept;
    case 26:
      at = state.cancelled_list != 0 ? 19 : (config_.is_drained ? 27 : 15);
      return Role::kKept;
    case 27:
      at = state.finished != state.finished_seen ? 19 : 15;
      return Role::kKept;
    case 15:
      at = state.awaited_slots != 0 && state.free_slots >= state.awaited_slots
               ? 16
               : 17;
      return Role::kKept;
    case 16:
      at = state.rows > 0 ? 19 : 17;
      return Role::kKept;
    case 17:
      at = state.wants_lane != 0 && state.ends != state.ends_seen ? 19 : 18;
      return Role::kKept;
    case 18:  // TryLeave()
      if (config_.sees_who_asked && state.is_asked_anew != 0) {
        at = 19;
        return Role::kKept;
      }
      ForgetStep(state);
      state.is_asked = 0;
      state.is_asked_anew = 0;
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
      state.until = 0;
      return Role::kKept;
  }
}

// Batcher::Answer().
void WakeUpModel::AnswerQueued(State& state, int request) const {
  state.queued = static_cast<int8_t>(state.queued & ~(1 << request));
  --state.rows;
  ++state.ended[request];
  if (config_.is_cancelled && request == 0) {
    --state.holds;
  }
}

// The policy on what is queued; what it waits for is published afterwards.
void WakeUpModel::Decide(State& state) const {
  const int rows = Count(state.queued);
  state.until = kNever;
  state.wake_at = kNever;
  state.wants_lane_next = 0;
  state.step_at = 10;
  if (state.free_seen > 0 && TakesOnlyFull(state.free_seen)) {
    if (rows < config_.batch_rows && state.closed_seen == 0) {
      state.wake_at = static_cast<int8_t>(config_.batch_rows);
    } else if (rows > 0 && HasIdleLane(state, state.ends_seen)) {
      // its slot comes
    } else if (rows > 0 && state.now < kLaneFreeAt) {
      state.until = kLaneFreeAt;
    } else if (rows > 0) {
      state.step_at = 4;
    }
  } else if (state.free_seen > 0 && rows == 0) {
    state.wake_at = 1;
  } else if (state.free_seen > 0) {
    state.wants_lane_next = 1;
    if (!HasIdleLane(state, state.ends_seen) && state.now < kLaneFreeAt) {
      state.until = kLaneFreeAt;
    } else if (config_.waits_for_rows && rows < config_.batch_rows &&
               state.now < kLeaveAt && state.closed_seen == 0) {
      state.until = kLeaveAt;
      state.wake_at = static_cast<int8_t>(config_.batch_rows);
    } else {
      state.step_at = 4;
    }
  }
  for (int request = 0; request < config_.producers; ++request) {
    if (Has(state.queued, request)) {
      state.until = std::min(state.until, DueOf(request));
    }
  }
}

}  // namespace ferry
