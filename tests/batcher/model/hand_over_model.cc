// Callers, the batcher that does not err, HostBackend::Start(), and whoever
// destroys the backend; comments name the lines they stand for.
#include "tests/batcher/model/hand_over_model.h"

#include <algorithm>
#include <utility>

namespace ferry {

int8_t HandOverModel::Fifo::Pop() {
  const int8_t first = items[0];
  std::copy(items + 1, items + kMaxBatches, items);
  items[kMaxBatches - 1] = 0;
  --size;
  return first;
}

HandOverModel::State HandOverModel::Start() const {
  State state;
  state.at[kCloser] = kCloses;
  return state;
}

Move HandOverModel::Step(State& state, int choice) const {
  const int actor = choice / 2;
  const int8_t at = state.at[actor];
  // To compute takes its time, and nobody may count on a wake-up for nothing.
  const bool is_slow =
      at == kComputes ||
      (at == kSleeps && !(actor == kDeliverer && state.timer != 0));
  Coin coin = {.is_second = choice % 2 == 1};
  if (!StepActor(state, actor, coin) || (coin.is_second && !coin.is_asked)) {
    return Move::kNone;
  }
  return is_slow ? Move::kSlow : Move::kMoved;
}

bool HandOverModel::StepActor(State& state, int actor, Coin& coin) const {
  if (state.at[actor] == kAsks || state.at[actor] == kSteps) {
    StepAsk(state, actor, coin);
    return true;
  }
  switch (actor) {
    case kLane:
      return StepLane(state, coin);
    case kStager:
      return StepStager(state);
    case kDeliverer:
      return StepDeliverer(state, coin);
    case kCloser:
      return config_.is_closed && StepCloser(state);
    default:
      return actor < config_.callers && StepCaller(state, actor, coin);
  }
}

bool HandOverModel::StepCaller(State& state, int caller, Coin& coin) const {
  int8_t& at = state.at[caller];
  switch (at) {
    case kLooks: {
      if (state.came == config_.batches) {
        return false;
      }
      ++state.came;
      const bool is_inline =
          config_.runs_inline && caller == config_.callers - 1;
      at = is_inline ? kLend : kAsks;
      return true;
    }
    case kLend: {  // RunInline(): HasSleeper()
      const int8_t lane = state.at[kLane];
      at = (lane == kSleeps || lane == kWoken) && state.to_compute.size == 0
               ? kLendIfIdle
               : kAsks;
      return true;
    }
    case kLendIfIdle:
      at = state.in_flight == 0 ? kLendsLock : kAsks;
      return true;
    case kLendsLock:  // TryLock()
      at = kAsks;
      if (state.is_lane_locked == 0 || !config_.lane_is_locked) {
        state.is_lane_locked = 1;
        state.inline_thread = static_cast<int8_t>(caller);
        state.back[caller] = kTakesInline;
      }
      return true;
    case kTakesInline:  // what the step started
      state.inline_thread = kNone;
      state.back[caller] = kLooks;
      state.batch[caller] = std::exchange(state.inline_work, kNone);
      if (state.batch[caller] == kNone) {
        at = kLeaves;
      } else {
        at = coin.Toss() ? kRefuses : kRuns;
      }
      return true;
    case kRefuses:  // RunStarted(), where the gate lets nobody in
      at = PushToLane(state, std::exchange(state.batch[caller], kNone))
               ? kRefusedSignals
               : kLeaves;
      return true;
    case kRefusedSignals:
      Signal(state, kLane);
      at = kLeaves;
      return true;
    default:
      StepRun(state, caller, coin);
      return true;
  }
}

// It asks where something is queued: else a step would do nothing.
void HandOverModel::AskThen(State& state, int actor, At end) const {
  if (state.came > state.started) {
    state.at[actor] = kAsks;
    state.back[actor] = end;
  } else {
    state.at[actor] = end;
  }
}

// Batcher::AskForStep().
void HandOverModel::StepAsk(State& state, int actor, Coin& coin) const {
  int8_t& at = state.at[actor];
  if (at == kSteps) {
    StepStepper(state, actor, coin);
  } else if (state.has_stepper != 0) {
    state.is_asked_anew = 1;
    at = std::exchange(state.back[actor], kLooks);
  } else {
    state.has_stepper = 1;
    at = kSteps;
  }
}

// Batcher::Step(), HostBackend::Start().
void HandOverModel::StepStepper(State& state, int actor, Coin& coin) const {
  int8_t& step_at = state.step_at;
  const auto batch = static_cast<int8_t>(state.started - 1);
  switch (step_at) {
    case 0:  // closes a batch; beside one on the lane it may wait
      state.is_asked_anew = 0;
      if (state.came == state.started || state.free_slots == 0 ||
          state.started - state.finished >= config_.max_batches ||
          (state.started > state.ends && coin.Toss())) {
        step_at = 6;
        return;
      }
      --state.free_slots;
      ++state.started;
      step_at = 1;
      return;
    case 1:  // Start()
      ++state.in_flight;
      if (config_.counts_in_flight ? state.in_flight > 1
                                   : state.to_compute.size > 0) {
        step_at = 2;
      } else if (state.inline_thread == actor && state.inline_work == kNone) {
        state.inline_work = batch;
        step_at = 0;
      } else {
        step_at = 4;
      }
      return;
    case 2:
      state.to_stage.Push(batch);
      step_at = config_.wakes_stager ? 3 : 0;
      return;
    case 3:
      Signal(state, kStager);
      step_at = 0;
      return;
    case 4:
      step_at = PushToLane(state, batch) ? 5 : 0;
      return;
    case 5:
      Signal(state, kLane);
      step_at = 0;
      return;
    default:  // TryLeave()
      step_at = 0;
      if (state.is_asked_anew == 0) {
        state.has_stepper = 0;
        state.at[actor] = std::exchange(state.back[actor], kLooks);
      }
      return;
  }
}

// ~HostBackend(): REQUIRES that nobody starts anything any more.
bool HandOverModel::StepCloser(State& state) const {
  int8_t& at = state.at[kCloser];
  constexpr int kThreads[] = {kStager, kLane, kDeliverer};
  const auto idle_callers =
      std::count(state.at, state.at + config_.callers, +kLooks);
  const bool may_begin = state.started == config_.batches &&
                         idle_callers == config_.callers &&
                         state.has_stepper == 0;
  if (at == kClosed || (at == kCloses && !may_begin)) {
    return false;
  }
  const int thread = kThreads[(at - kCloses) / 2];
  if ((at - kCloses) % 2 == 0) {  // Close()
    state.is_closed = static_cast<int8_t>(state.is_closed | 1 << thread);
    Signal(state, thread);
  } else if (state.at[thread] != kExited &&
             (thread != kStager || config_.waits_for_stager)) {
    return false;  // it joins it
  }
  ++at;
  return true;
}

bool HandOverModel::IsClosed(const State& state, int actor) const {
  return (state.is_closed >> actor & 1) != 0;
}

// WorkQueue::Push().
bool HandOverModel::PushToLane(State& state, int8_t batch) {
  state.to_compute.Push(batch);
  return state.to_compute.size > (state.at[kLane] == kPolls ? 1 : 0);
}

// CondVar::SignalOne(), to the one thread that may wait there.
void HandOverModel::Signal(State& state, int actor) {
  if (state.at[actor] == kSleeps) {
    state.at[actor] = kWoken;
  }
}

}  // namespace ferry
