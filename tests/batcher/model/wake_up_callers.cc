// Who calls the batcher: producers, whoever cancels, whoever drains.
#include "tests/batcher/model/wake_up_model.h"

namespace ferry {

// Batcher::Submit().
bool WakeUpModel::StepProducer(State& state, int producer,
                               bool is_second) const {
  const auto request = static_cast<int8_t>(producer);
  const bool has_holds = config_.is_cancelled && producer == 0;
  const int8_t serve = config_.lanes > 0 ? 20 : 9;
  const int8_t news = config_.runs_inline ? kRunsInline : serve;
  int8_t& at = state.at[producer];
  if (at >= kRunsInline) {
    return StepInline(state, producer, is_second);
  }
  switch (at) {
    case 0:  // TryAdmit()
      ++state.rows;
      at = config_.is_drained ? 15 : 16;
      if (state.rows > config_.capacity) {
        at = 30;
      } else if (!config_.is_drained && !has_holds) {
        at = 1;
      }
      return true;
    case 15:
      at = state.is_closed != 0 ? 30 : (has_holds ? 16 : 1);
      return true;
    case 16:  // TakeFirstHolds()
      state.holds = 2;
      at = 1;
      return true;
    case 1:  // PushList: read the head and link
      state.head_seen[producer] = state.head;
      state.next[request] = state.head;
      at = 2;
      return true;
    case 2:  // compare and swap the head; else read and link again
      if (state.head == state.head_seen[producer]) {
        state.head = request;
        state.head_seen[producer] = kNone;
        at = 3;
      } else {
        state.head_seen[producer] = state.head;
        state.next[request] = state.head;
      }
      return true;
    case 3:  // IsNews()
      at = state.rows >= state.wake_at_rows ? news : 4;
      return true;
    case 4:
      at = config_.is_drained ? 5 : 6;
      if (config_.deadline_wakes && DueOf(request) < state.wait_until) {
        at = news;
      } else if (!config_.is_drained && !config_.producer_looks_for_slots) {
        at = 14;
      }
      return true;
    case 5:
      at = state.is_closed != 0 ? news : 6;
      return true;
    case 6:  // SlotAwaitsRows()
      at = state.awaited_slots != 0 ? 7 : 14;
      return true;
    case 7:
      at = state.free_slots >= state.awaited_slots ? 8 : 14;
      return true;
    case 8:
      at = state.rows > 0 ? news : 14;
      return true;
    case 14:
      if (!has_holds || state.is_refused[producer] != 0) {
        return false;
      }
      at = config_.looks_for_cancel && state.is_cancelled != 0 ? 23 : 28;
      return true;
    case 20:
    case 21:
    case 22:
      StepWakeOne(state, producer, 20, /*woken=*/14, /*not_woken=*/9,
                  is_second);
      return true;
    case 28:  // GiveBackHold()
      --state.holds;
      at = 29;
      return true;
    case 29:
      return false;
    case 30:  // LeaveQueue()
      state.rows =
          static_cast<int8_t>(state.rows - (config_.takes_back ? 1 : 0));
      state.is_refused[producer] = 1;
      at = config_.is_drained && config_.refused_wakes_drain ? 31 : 14;
      return true;
    case 31:
      at = state.is_closed != 0 ? 9 : 14;
      return true;
    default:  // from 23 on: it was cancelled meanwhile
      return StepAsk(state, producer, at >= 23 ? 23 : 9, is_second);
  }
}

// Batcher::ServeInline(), HostBackend::RunInline().
bool WakeUpModel::StepInline(State& state, int producer, bool is_second) const {
  constexpr auto kTold = static_cast<int8_t>(kComputesInline + 24);
  int8_t& at = state.at[producer];
  switch (at) {
    case kRunsInline:  // HasSleeper(), TryLock()
      if (state.waiting == 0 || state.polling > 0 || state.items > 0 ||
          state.to_tell != 0 || state.is_lane_locked != 0) {
        at = config_.serves_beside_lane ? 20 : 14;
      } else {
        state.is_lane_locked = 1;
        at = kRunsInline + 1;
      }
      return true;
    case kComputesInline - 1:  // what it has started
      at = state.inline_work != 0 ? kComputesInline : kTold;
      state.inline_work = 0;
      return true;
    case kTold:
      state.is_lane_locked = 0;
      at = 14;
      return true;
    default:
      break;
  }
  if (at >= kComputesInline) {
    return StepEvents(state, producer, kComputesInline, is_second);
  }
  const bool had_stepper = state.has_stepper != 0;
  StepAsk(state, producer, kRunsInline + 1, is_second);
  if (at == kRunsInline + 2) {
    state.is_inline = 1;  // Start() on this thread
  } else if (had_stepper && at > kRunsInline + 2) {
    state.is_inline = 0;
  }
  return true;
}

// Batcher::Cancel() of the first producer's request.
bool WakeUpModel::StepCanceller(State& state, bool is_second) const {
  int8_t& at = state.at[kCanceller];
  switch (at) {
    case 0:
      state.is_cancelled = 1;
      at = 1;
      return true;
    case 1:  // TryHold()
      state.holds = static_cast<int8_t>(state.holds + (state.holds > 0));
      at = state.holds > 0 ? 2 : 8;
      return true;
    case 2:
      state.cancelled_list = 1;
      at = config_.cancel_wakes ? 3 : 8;
      return true;
    case 8:
      return false;
    default:
      return StepAsk(state, kCanceller, 3, is_second);
  }
}

// Batcher::BeginDrain().
bool WakeUpModel::StepDrainer(State& state, bool is_second) const {
  int8_t& at = state.at[kDrainer];
  switch (at) {
    case 0:
      state.is_closed = 1;
      at = 1;
      return true;
    case 6:
      return false;
    default:
      return StepAsk(state, kDrainer, 1, is_second);
  }
}

}  // namespace ferry
