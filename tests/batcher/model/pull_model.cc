// The steps of each thread, one shared access each, and their exploration.
#include "tests/batcher/model/pull_model.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace ferry {
namespace {

constexpr uint8_t kEnd = 99;     // a producer has submitted
constexpr uint8_t kRuns = 90;    // a puller has a batch
constexpr uint8_t kSleeps = 91;  // a puller or the timer waits

int Count(uint8_t bits) { return std::popcount(bits); }
// So many requests that are not told apart.
uint8_t Alike(int count) { return static_cast<uint8_t>((1 << count) - 1); }

}  // namespace

// --- producers: count, push, look --------------------------------------------

void PullModel::MoveProducer(const State& state, int index,
                             const Emit& emit) const {
  State next = state;
  State::Producer& its = next.producers[static_cast<size_t>(index)];
  const auto due = static_cast<uint8_t>(index + 1);
  switch (its.step) {
    case 0:  // counts
      ++next.rows;
      its.rows = next.rows;
      its.look_at = next.look_at;
      its.step = 1;
      break;
    case 1:  // pushes
      next.inbox = options_.has_timer
                       ? static_cast<uint8_t>(next.inbox | (1 << index))
                       : Alike(Count(next.inbox) + 1);
      its.step = 2;
      break;
    case 2:  // reads the word
      its.at_rows = next.notify_rows;
      its.at_instance = next.notify_instance;
      its.step = its.at_rows == 0 ? 5 : 3;
      break;
    case 3:  // reads the rows
      if (options_.mutation != Mutation::kRowsReadBeforePush) {
        its.rows = next.rows;
      }
      its.step = its.rows >= its.at_rows ? 4 : 5;
      break;
    case 4:  // claims the word, and wakes
      if (next.notify_rows == its.at_rows &&
          next.notify_instance == its.at_instance) {
        next.notify_rows = next.notify_instance = 0;
        Notify(next, its.at_instance);
      }
      its.step = 5;
      break;
    case 5:  // reads when the timer looks
      if (options_.mutation != Mutation::kLookReadBeforePush) {
        its.look_at = next.look_at;
      }
      its.step = options_.has_timer && (its.look_at == 0 || due < its.look_at)
                     ? 6
                     : kEnd;
      break;
    case 6:  // lowers it, or reads it again
      if (next.look_at == its.look_at) {
        next.look_at = due;
        NotifyTimer(next);
        its.step = kEnd;
      } else if (options_.mutation == Mutation::kLookReadBeforePush) {
        its.step = kEnd;
      } else {
        its.step = 5;
      }
      break;
    default:
      return;
  }
  // What it no longer needs does not tell states apart.
  const bool reads_late = options_.mutation != Mutation::kRowsReadBeforePush;
  if (its.step >= 5 || (reads_late && its.step < 3)) {
    its.rows = 0;
  }
  if (its.step >= 5) {
    its.at_rows = its.at_instance = 0;
  }
  if (its.step == kEnd ||
      (its.step < 6 && options_.mutation != Mutation::kLookReadBeforePush)) {
    its.look_at = 0;
  }
  emit(next);
}

// --- pullers -----------------------------------------------------------------

void PullModel::Notify(State& state, int instance) {
  State::Puller& its = state.pullers[static_cast<size_t>(instance)];
  if (its.is_prepared != 0) {
    its.is_prepared = 0;
    its.is_woken = 1;
  }
}

void PullModel::NotifyTimer(State& state) {
  if (state.timer.is_prepared != 0) {
    state.timer.is_prepared = 0;
    state.timer.is_woken = 1;
  }
}

bool PullModel::Leaves(const State& state) const {
  return options_.is_window ? Count(state.queue) >= options_.batch ||
                                  (state.queue != 0 && state.is_over != 0)
                            : state.queue != 0;
}

bool PullModel::SomeAlarm(const State& state) const {
  for (const State::Puller& each : state.pullers) {
    if (each.is_waiting != 0 && each.has_alarm != 0) {
      return true;
    }
  }
  return false;
}

int PullModel::Designated(const State& state, int instances) {
  int best = -1;
  for (int i = 0; i < instances; ++i) {
    const State::Puller& each = state.pullers[static_cast<size_t>(i)];
    if (each.is_waiting == 0) {
      continue;
    }
    if (each.has_alarm != 0) {
      return i + 1;
    }
    if (best < 0 || each.wait_number >
                        state.pullers[static_cast<size_t>(best)].wait_number) {
      best = i;
    }
  }
  return best + 1;
}

// Stores the word, or decides whom to wake instead. The look comes next.
void PullModel::Publish(State& state, State::Puller& its) const {
  const int waiter = Designated(state, options_.instances);
  state.notify_rows = state.notify_instance = 0;
  its.wake = 0;
  if (waiter == 0) {
    return;
  }
  const bool needs_alarm = options_.is_window && state.queue != 0 &&
                           !SomeAlarm(state) &&
                           options_.mutation != Mutation::kAlarmIsNotHandedOn;
  if (Leaves(state) || needs_alarm) {
    its.wake = static_cast<uint8_t>(waiter);
    return;
  }
  state.notify_rows =
      static_cast<uint8_t>(state.queue != 0 ? options_.batch : 1);
  state.notify_instance = static_cast<uint8_t>(waiter - 1);
}

// It no longer waits; those that wait keep their order, from 1.
void PullModel::BeginPull(State& state, State::Puller& its) {
  for (State::Puller& each : state.pullers) {
    if (its.wait_number != 0 && each.wait_number > its.wait_number) {
      --each.wait_number;
    }
  }
  its = {};
  its.step = 1;
}

void PullModel::MovePuller(const State& state, int index,
                           const Emit& emit) const {
  State next = state;
  State::Puller& its = next.pullers[static_cast<size_t>(index)];
  const Mutation mutation = options_.mutation;
  switch (its.step) {
    case 0:  // takes the mutex
      if (state.mutex != 0) {
        return;
      }
      next.mutex = static_cast<uint8_t>(index + 1);
      BeginPull(next, its);
      break;
    case 1:  // takes its key
      if (mutation != Mutation::kKeyTakenAfterPublication) {
        its.is_prepared = 1;
        its.is_woken = 0;
      }
      its.step = 2;
      break;
    case 2:  // drains, plans, and leaves or waits
      next.queue = static_cast<uint8_t>(next.queue | next.inbox);
      next.inbox = 0;
      its.leaves = Leaves(next) ? 1 : 0;
      if (its.leaves != 0) {
        for (int taken = 0; taken < options_.batch && next.queue != 0;
             ++taken) {
          next.queue = static_cast<uint8_t>(next.queue & (next.queue - 1));
          --next.rows;
        }
        next.is_over = next.queue == 0 ? 0 : next.is_over;
        its.is_prepared = its.is_woken = 0;
      } else {
        its.has_alarm =
            options_.is_window && next.queue != 0 && !SomeAlarm(next) ? 1 : 0;
        its.is_waiting = 1;
        uint8_t newest = 0;
        for (const State::Puller& each : next.pullers) {
          newest = std::max(newest, each.wait_number);
        }
        its.wait_number = static_cast<uint8_t>(newest + 1);
      }
      its.step = 3;
      break;
    case 3:  // publishes
      if (its.leaves != 0 && mutation == Mutation::kLeavingPublishesNothing) {
        its.step = 5;
        break;
      }
      Publish(next, its);
      its.step = its.wake != 0 || next.notify_rows == 0 ? 5 : 4;
      if (its.leaves != 0 && mutation == Mutation::kNoWakeForWhatStaysBehind) {
        its.wake = 0;
      }
      break;
    case 4:  // looks once more
      if (next.inbox != 0 &&
          mutation != (its.leaves != 0
                           ? Mutation::kNoLookAfterLeaversPublication
                           : Mutation::kNoLookAfterWaitersPublication)) {
        its.wake = static_cast<uint8_t>(next.notify_instance + 1);
        next.notify_rows = next.notify_instance = 0;
      }
      its.step = 5;
      break;
    case 5:  // begins again, or gives the mutex back
      if (its.leaves == 0 && its.wake == index + 1) {
        BeginPull(next, its);
        break;
      }
      if (its.leaves == 0 && mutation == Mutation::kKeyTakenAfterPublication) {
        its.is_prepared = 1;
      }
      next.mutex = 0;
      its.step = 6;
      break;
    case 6:  // wakes another
      if (its.wake != 0) {
        Notify(next, its.wake - 1);
        its.wake = 0;
      }
      its.step = its.leaves != 0 ? kRuns : kSleeps;
      break;
    case kSleeps:
      if (its.is_woken == 0) {
        return;
      }
      its.step = 0;
      break;
    default:
      return;
  }
  emit(next);
}

// --- the timer ---------------------------------------------------------------

void PullModel::MoveTimer(const State& state, const Emit& emit) const {
  State next = state;
  State::Timer& its = next.timer;
  constexpr uint8_t kHolder = kMaxInstances + 1;
  const bool is_unlocked =
      options_.mutation == Mutation::kTimerPublishesWithoutMutex;
  switch (its.step) {
    case 0:  // takes its key
      its.is_prepared = 1;
      its.is_woken = 0;
      its.step = 1;
      break;
    case 1:  // takes the mutex
      if (state.mutex != 0) {
        return;
      }
      next.mutex = kHolder;
      its.step = 2;
      break;
    case 2:  // drains, expires, computes
      next.queue = static_cast<uint8_t>(next.queue | next.inbox);
      next.inbox = 0;
      if (its.fires != 0) {
        for (int i = 0; i < its.look_at; ++i) {
          if ((next.queue >> i & 1) != 0) {
            next.queue = static_cast<uint8_t>(next.queue & ~(1 << i));
            --next.rows;
          }
        }
        next.is_over = next.queue == 0 ? 0 : next.is_over;
      }
      its.fires = 0;
      its.look_at =
          next.queue == 0
              ? 0
              : static_cast<uint8_t>(std::countr_zero(next.queue) + 1);
      if (is_unlocked) {
        next.mutex = 0;
      }
      its.step = 3;
      break;
    case 3:  // publishes
      next.look_at = its.look_at;
      its.step = 4;
      break;
    case 4:  // looks once more
      if (next.inbox != 0 &&
          options_.mutation != Mutation::kNoLookAfterTimersPublication) {
        its.step = is_unlocked ? 1 : 2;
      } else {
        if (!is_unlocked) {
          next.mutex = 0;
        }
        its.step = kSleeps;
      }
      break;
    case kSleeps:
      if (its.is_woken == 0) {
        return;
      }
      its.step = 0;
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
    if (its.step == kRuns) {
      its.step = 0;
      emit(next);
    } else if (its.step == kSleeps && its.is_woken == 0 && its.has_alarm != 0) {
      next.is_over = next.queue != 0 ? 1 : 0;
      its.step = 0;
      emit(next);
    }
  }
  if (state.timer.step == kSleeps && state.timer.is_woken == 0 &&
      state.timer.look_at != 0) {
    State next = state;
    next.timer.step = 0;
    next.timer.fires = 1;
    emit(next);
  }
}

// --- exploration -------------------------------------------------------------

std::string PullModel::Problem(const State& state) const {
  bool sleeps = false;
  for (int i = 0; i < options_.instances; ++i) {
    sleeps = sleeps || state.pullers[static_cast<size_t>(i)].step == kSleeps;
  }
  const auto here = static_cast<uint8_t>(state.queue | state.inbox);
  if (sleeps && here != 0 && !options_.is_window) {
    return "a request waits beside an idle instance";
  }
  if (sleeps && Count(here) >= options_.batch) {
    return "a full batch waits beside an idle instance";
  }
  if (sleeps && here != 0 && !SomeAlarm(state)) {
    return "requests wait and no instance has the alarm";
  }
  if (options_.has_timer && here != 0 &&
      (state.timer.step != kSleeps || state.timer.look_at == 0 ||
       state.timer.look_at > std::countr_zero(here) + 1)) {
    return "the timer sleeps past a deadline";
  }
  return "";
}

PullModel::Result PullModel::Explore() const {
  struct Hash {
    size_t operator()(const State& state) const {
      return std::hash<std::string_view>()(std::string_view(
          reinterpret_cast<const char*>(&state), sizeof state));
    }
  };
  struct Equal {
    bool operator()(const State& a, const State& b) const {
      return std::memcmp(&a, &b, sizeof a) == 0;
    }
  };
  static_assert(alignof(State) == 1, "states have no padding");
  State first = {};
  for (int i = options_.producers; i < kMaxProducers; ++i) {
    first.producers[static_cast<size_t>(i)].step = kEnd;  // sorts last
  }
  std::unordered_set<State, Hash, Equal> seen = {first};
  std::vector<State> open = {first};
  Result result;
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    bool moves = false;
    const Emit emit = [&](State next) {
      moves = true;
      if (!options_.has_timer) {  // producers are not told apart, either
        next.inbox = Alike(Count(next.inbox));
        next.queue = Alike(Count(next.queue));
        std::sort(next.producers.begin(), next.producers.end(),
                  [](const State::Producer& a, const State::Producer& b) {
                    return std::memcmp(&a, &b, sizeof a) < 0;
                  });
      }
      if (seen.insert(next).second) {
        open.push_back(next);
      }
    };
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
      if (std::string problem = Problem(state); !problem.empty()) {
        result.problem = std::move(problem);
        break;
      }
    }
    PassTime(state, emit);
  }
  result.states = seen.size();
  return result;
}

}  // namespace ferry
