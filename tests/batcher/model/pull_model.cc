// Implements PullModel: steps of one shared access each, and their exploration.
// A step that takes the mutex is one with the next, one that gives it back with
// the last: what others do in between could as well come before, or after.
#include "tests/batcher/model/pull_model.h"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <vector>

namespace ferry {
namespace {

constexpr uint8_t kEnd = 99;     // a producer has submitted
constexpr uint8_t kRuns = 90;    // a puller has a batch
constexpr uint8_t kSleeps = 91;  // a puller or the timer waits

constexpr uint8_t Byte(int64_t value) { return static_cast<uint8_t>(value); }
int Count(uint8_t bits) { return std::popcount(bits); }
constexpr uint8_t First(int count) { return Byte((1 << count) - 1); }

}  // namespace

uint8_t PullModel::Join(uint8_t some, uint8_t more) const {
  return options_.has_timer ? Byte(some | more)
                            : First(Count(some) + Count(more));
}

// --- producers: count, push, look --------------------------------------------

// What a producer no longer needs is 0, so that it does not tell states apart.
void PullModel::MoveProducer(State next, int index, const Emit& emit) const {
  State::Producer& its = next.producers[static_cast<size_t>(index)];
  const uint8_t due = Byte(index + 1);
  const bool reads_rows_early =
      options_.mutation == Mutation::kRowsReadBeforePush;
  const bool reads_look_early =
      options_.mutation == Mutation::kLookReadBeforePush;
  constexpr State::Producer kHasSubmitted = {kEnd, 0, 0, 0, 0};
  const auto go_to_look = [&] {
    its.rows = its.at_rows = its.at_instance = 0;
    its.step = 5;
  };
  switch (its.step) {
    case 0:  // counts
      ++next.rows;
      its.rows = reads_rows_early ? next.rows : Byte(0);
      its.look_at = reads_look_early ? next.look_at : Byte(0);
      its.step = 1;
      break;
    case 1:  // pushes
      next.inbox = Join(next.inbox, Byte(1 << index));
      its.step = 2;
      break;
    case 2:  // reads the word
      its.at_rows = next.notify_rows;
      its.at_instance = next.notify_instance;
      its.step = 3;
      if (its.at_rows == 0) {
        go_to_look();
      }
      break;
    case 3:  // reads the rows
      its.step = 4;
      if ((reads_rows_early ? its.rows : next.rows) < its.at_rows) {
        go_to_look();
      }
      break;
    case 4:  // claims the word, and wakes
      if (next.notify_rows == its.at_rows &&
          next.notify_instance == its.at_instance) {
        next.notify_rows = next.notify_instance = 0;
        next.pullers[its.at_instance].event.Notify();
      }
      go_to_look();
      break;
    case 5:  // reads when the timer looks
      its.look_at = reads_look_early ? its.look_at : next.look_at;
      its.step = 6;
      if (!options_.has_timer || (its.look_at != 0 && due >= its.look_at)) {
        its = kHasSubmitted;
      }
      break;
    case 6:  // lowers it, or reads it again
      if (next.look_at == its.look_at) {
        next.look_at = due;
        next.timer.event.Notify();
        its = kHasSubmitted;
      } else {
        its.look_at = 0;
        its.step = reads_look_early ? kEnd : Byte(5);
      }
      break;
    default:
      return;
  }
  emit(next);
}

// --- pullers -----------------------------------------------------------------

bool PullModel::Leaves(const State& state) const {
  return options_.is_window ? Count(state.queue) >= options_.batch ||
                                  (state.queue != 0 && state.is_over != 0)
                            : state.queue != 0;
}

bool PullModel::NeedsAlarm(const State& state) const {
  return options_.is_window && state.queue != 0 &&
         std::none_of(state.pullers.begin(), state.pullers.end(),
                      [](const auto& each) { return each.has_alarm != 0; });
}

// That which has the alarm, else the last to wait.
uint8_t PullModel::Designated(const State& state) {
  int best = 0;
  int best_rank = 0;
  for (int i = 0; i < kMaxInstances; ++i) {
    const State::Puller& each = state.pullers[static_cast<size_t>(i)];
    const int rank = each.has_alarm * kMaxInstances + each.wait_number;
    if (rank > best_rank) {
      best_rank = rank;
      best = i + 1;
    }
  }
  return Byte(best);
}

void PullModel::MovePuller(State next, int index, const Emit& emit) const {
  State::Puller& its = next.pullers[static_cast<size_t>(index)];
  const Mutation mutation = options_.mutation;
  if (its.step == kSleeps && its.event.is_woken != 0) {
    its.step = 0;
  }
  switch (its.step) {
    case 0:  // takes the mutex and its key; it no longer waits
      if (next.mutex != 0) {
        return;
      }
      next.mutex = Byte(index + 1);
      for (State::Puller& each : next.pullers) {
        if (its.wait_number != 0 && each.wait_number > its.wait_number) {
          --each.wait_number;
        }
      }
      its = {};
      its.step = 1;
      if (mutation != Mutation::kKeyTakenAfterPublication) {
        its.event.Prepare();
      }
      break;
    case 1:  // drains, plans, and leaves or waits
      next.queue = Join(next.queue, next.inbox);
      next.inbox = 0;
      its.step = 2;
      if (Leaves(next)) {
        its.leaves = 1;
        its.event = {};
        for (int i = 0; i < options_.batch && next.queue != 0; ++i) {
          next.queue = Byte(next.queue & (next.queue - 1));
          --next.rows;
        }
        next.is_over = next.queue == 0 ? Byte(0) : next.is_over;
        its.step = mutation == Mutation::kLeavingPublishesNothing ? 4 : 2;
      } else {
        its.has_alarm = NeedsAlarm(next) ? 1 : 0;
        its.wait_number =
            Byte(1 + std::count_if(next.pullers.begin(), next.pullers.end(),
                                   [](const auto& each) {
                                     return each.wait_number != 0;
                                   }));
      }
      break;
    case 2: {  // publishes, or decides which instance to wake instead
      const uint8_t waiter = Designated(next);
      const bool has_work =
          Leaves(next) ||
          (NeedsAlarm(next) && mutation != Mutation::kAlarmIsNotHandedOn);
      next.notify_rows = next.notify_instance = 0;
      its.step = 4;
      if (waiter != 0 && !has_work) {
        next.notify_rows = Byte(next.queue != 0 ? options_.batch : 1);
        next.notify_instance = Byte(waiter - 1);
        its.step = 3;
      } else if (its.leaves == 0 ||
                 mutation != Mutation::kNoWakeForWhatStaysBehind) {
        its.wake = waiter;
      }
      break;
    }
    case 3:  // looks once more
      if (next.inbox != 0 &&
          mutation != (its.leaves != 0
                           ? Mutation::kNoLookAfterLeaversPublication
                           : Mutation::kNoLookAfterWaitersPublication)) {
        its.wake = Byte(next.notify_instance + 1);
        next.notify_rows = next.notify_instance = 0;
      }
      its.step = 4;
      break;
    case 4:  // wakes an instance, which may be itself
      if (its.leaves == 0 && mutation == Mutation::kKeyTakenAfterPublication) {
        its.event.is_prepared = 1;
      }
      if (its.wake != 0) {
        next.pullers[its.wake - 1u].event.Notify();
        its.wake = 0;
      }
      its.step = its.leaves != 0 ? kRuns : kSleeps;
      break;
    default:
      return;
  }
  if (its.step == 4) {
    next.mutex = 0;
  }
  emit(next);
}

// --- the timer ---------------------------------------------------------------

void PullModel::MoveTimer(State next, const Emit& emit) const {
  State::Timer& its = next.timer;
  constexpr uint8_t kHolder = kMaxInstances + 1;
  const bool is_unlocked =
      options_.mutation == Mutation::kTimerPublishesWithoutMutex;
  if (its.step == kSleeps && its.event.is_woken != 0) {
    its.step = 0;
  }
  switch (its.step) {
    case 0:  // takes its key
      its.event.Prepare();
      its.step = 1;
      break;
    case 1:  // takes the mutex, drains, expires, computes
      if (next.mutex != 0) {
        return;
      }
      next.mutex = is_unlocked ? Byte(0) : kHolder;
      next.queue = Join(next.queue, next.inbox);
      next.inbox = 0;
      if (its.fires != 0) {
        const uint8_t expired = next.queue & First(its.look_at);
        next.queue = Byte(next.queue - expired);
        next.rows = Byte(next.rows - Count(expired));
        next.is_over = next.queue == 0 ? Byte(0) : next.is_over;
      }
      its.fires = 0;
      its.look_at =
          next.queue == 0 ? Byte(0) : Byte(std::countr_zero(next.queue) + 1);
      its.step = 2;
      break;
    case 2:  // publishes
      next.look_at = its.look_at;
      its.step = 3;
      break;
    case 3:  // looks once more
      its.step = kSleeps;
      if (next.inbox != 0 &&
          options_.mutation != Mutation::kNoLookAfterTimersPublication) {
        next.look_at = 1;
        its.step = 0;
      }
      next.mutex = is_unlocked ? next.mutex : Byte(0);
      break;
    default:
      return;
  }
  emit(next);
}

// Batches end, windows end, and the timer's moment comes, some time.
void PullModel::PassTime(const State& state, const Emit& emit) const {
  for (size_t i = 0; i < static_cast<size_t>(options_.instances); ++i) {
    State next = state;
    State::Puller& its = next.pullers[i];
    const bool is_alarmed = its.step == kSleeps && its.has_alarm != 0;
    if (its.step == kRuns || is_alarmed) {
      next.is_over = is_alarmed ? next.queue != 0 : next.is_over;
      its.step = 0;
      emit(next);
    }
  }
  if (state.timer.step == kSleeps && state.timer.look_at != 0) {
    State next = state;
    next.timer.step = 0;
    next.timer.fires = 1;
    emit(next);
  }
}

// --- exploration -------------------------------------------------------------

std::string PullModel::Problem(State state) const {
  state.queue = Join(state.queue, state.inbox);
  const bool sleeps =
      std::any_of(state.pullers.begin(), state.pullers.end(),
                  [](const auto& each) { return each.step == kSleeps; });
  if (sleeps && state.queue != 0 && !options_.is_window) {
    return "a request waits beside an idle instance";
  }
  if (sleeps && Count(state.queue) >= options_.batch) {
    return "a full batch waits beside an idle instance";
  }
  if (sleeps && NeedsAlarm(state)) {
    return "requests wait and no instance has the alarm";
  }
  if (options_.has_timer && state.queue != 0 &&
      (state.timer.step != kSleeps || state.timer.look_at == 0 ||
       state.timer.look_at > std::countr_zero(state.queue) + 1)) {
    return "the timer sleeps past a deadline";
  }
  return "";
}

PullModel::Result PullModel::Explore() const {
  static_assert(alignof(State) == 1, "states have no padding");
  State first = {};
  for (size_t i = static_cast<size_t>(options_.producers); i < kMaxProducers;
       ++i) {
    first.producers[i].step = kEnd;  // sorts last
  }
  std::unordered_set<std::string> seen;
  std::vector<State> open = {first};
  bool moves = false;
  const Emit emit = [&](State next) {
    moves = true;
    if (!options_.has_timer) {
      next.queue = First(Count(next.queue));
      std::sort(next.producers.begin(), next.producers.end());
    }
    if (seen.emplace(reinterpret_cast<const char*>(&next), sizeof next)
            .second) {
      open.push_back(next);
    }
  };
  Result result;
  while (!open.empty() && result.problem.empty()) {
    const State state = open.back();
    open.pop_back();
    moves = false;
    for (int i = 0; i < kMaxProducers; ++i) {
      MoveProducer(state, i, emit);
    }
    for (int i = 0; i < options_.instances; ++i) {
      MovePuller(state, i, emit);
    }
    if (options_.has_timer) {
      MoveTimer(state, emit);
    }
    if (!moves) {
      ++result.at_rest;
      result.problem = Problem(state);
    }
    PassTime(state, emit);
  }
  result.states = seen.size();
  return result;
}

}  // namespace ferry
