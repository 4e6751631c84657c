// Implements ExplorePullModel(): steps of one shared access each, and their
// exploration. A step that takes the mutex is one with the next, one that gives
// it back with the last: what others do in between could as well come before,
// or after.
#include "tests/batcher/model/pull_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace ferry {
namespace {

using enum Mutation;
constexpr size_t kMaxProducers = 4;
constexpr size_t kMaxInstances = 3;
constexpr uint8_t kNever = 9;  // what is due first in an empty queue

constexpr uint8_t Byte(int64_t value) { return static_cast<uint8_t>(value); }
constexpr uint8_t Lowest(int count) { return Byte((1 << count) - 1); }
int Count(uint8_t bits) { return std::popcount(bits); }
uint8_t FirstDue(uint8_t bits) { return Byte(std::countr_zero(bits) + 1); }

struct Producer {
  enum : uint8_t { kCount, kPush, kWord, kRows, kClaim, kLook, kLower, kEnd };
  uint8_t step = kCount, rows = 0, at_rows = 0, at_instance = 0, look_at = 0;
  auto operator<=>(const Producer&) const = default;
};

struct Puller {
  enum : uint8_t { kSleeps, kPlan, kPublish, kLook, kWake, kRuns };
  uint8_t step = kSleeps;
  bool leaves = false, has_alarm = false;
  bool is_notified = true;  // since it took its key (base/event_count.h)
  uint8_t wake = 0;         // instance + 1; 0: none
};

struct Timer {
  enum : uint8_t { kSleeps, kPlan, kPublish, kLook };
  uint8_t step = kSleeps, look_at = kNever;
  bool fires = false, is_notified = true;
};

struct State {
  uint8_t rows = 0;                              // the admission counter
  uint8_t inbox = 0, queue = 0;                  // requests, as bits
  bool is_locked = false;                        // the mutex
  bool is_over = false;                          // the window of the queue
  uint8_t notify_rows = 0, notify_instance = 0;  // the word; rows 0: none
  uint8_t look_at = kNever;
  // Instances + 1, in the order in which they began to wait; 0: no more.
  std::array<uint8_t, kMaxInstances> waiting = {};
  std::array<Producer, kMaxProducers> producers;
  std::array<Puller, kMaxInstances> pullers;
  Timer timer;
};
static_assert(alignof(State) == 1, "states have no padding");

// Without deadlines neither requests nor producers differ: those that have
// pushed come first, and the lowest bits are queued, the next in the inbox.
void MergeAlike(const PullModelOptions& options, State& next) {
  const uint8_t all = Lowest(Count(next.queue) + Count(next.inbox));
  next.queue = Lowest(Count(next.queue));
  next.inbox = Byte(all - next.queue);
  std::ranges::sort(std::span(next.producers).first(options.producers),
                    std::ranges::greater());
}

bool Leaves(const PullModelOptions& options, const State& state) {
  return state.queue != 0 && (!options.is_window || state.is_over ||
                              Count(state.queue) >= options.batch);
}

bool NeedsAlarm(const PullModelOptions& options, const State& state) {
  return options.is_window && state.queue != 0 &&
         std::ranges::none_of(state.pullers, &Puller::has_alarm);
}

void Drain(State& next) {
  next.queue = Byte(next.queue | next.inbox);
  next.inbox = 0;
}

void TakeOut(uint8_t requests, State& next) {
  next.queue = Byte(next.queue & ~requests);
  next.rows = Byte(next.rows - Count(requests));
  next.is_over = next.is_over && next.queue != 0;
}

// --- steps: each function makes the next one, or returns false: there is none

// Counts, pushes, looks. What it needs no more is 0, so that states are alike.
bool MoveProducer(const PullModelOptions& options, uint8_t index, State& next) {
  const Mutation mutation = options.mutation;
  const uint8_t due = Byte(index + 1);
  Producer& its = next.producers[index];
  const Producer has_notified = {
      .step = options.has_timer ? Producer::kLook : Producer::kEnd,
      .look_at = its.look_at};
  switch (its.step++) {
    case Producer::kCount:
      ++next.rows;
      its.rows = mutation == kRowsReadBeforePush ? next.rows : Byte(0);
      its.look_at = mutation == kLookReadBeforePush ? next.look_at : Byte(0);
      return true;
    case Producer::kPush:
      next.inbox = Byte(next.inbox | 1 << index);
      return true;
    case Producer::kWord:
      its.at_rows = next.notify_rows;
      its.at_instance = next.notify_instance;
      its = its.at_rows == 0 ? has_notified : its;
      return true;
    case Producer::kRows:
      its.rows = mutation == kRowsReadBeforePush ? its.rows : next.rows;
      its = its.rows < its.at_rows ? has_notified : its;
      its.rows = 0;
      return true;
    case Producer::kClaim:  // and wakes
      if (next.notify_rows == its.at_rows &&
          next.notify_instance == its.at_instance) {
        next.notify_rows = next.notify_instance = 0;
        next.pullers[its.at_instance].is_notified = true;
      }
      its = has_notified;
      return true;
    case Producer::kLook:
      its.look_at =
          mutation == kLookReadBeforePush ? its.look_at : next.look_at;
      return true;
    case Producer::kLower:  // unless it is low enough
      if (its.look_at > due && its.look_at != next.look_at) {
        its = {.step = Producer::kLower, .look_at = next.look_at};
        return true;
      }
      if (its.look_at > due) {
        next.look_at = due;
        next.timer.is_notified = true;
      }
      its = {.step = Producer::kEnd};
      return true;
    default:
      return false;
  }
}

// Publishes what the designated instance waits for, or decides to wake it: the
// one that has the alarm, else the last to wait.
void Publish(const PullModelOptions& options, Puller& its, State& next) {
  uint8_t waiter = 0;
  for (const uint8_t each : next.waiting) {
    if (each != 0 && (waiter == 0 || !next.pullers[waiter - 1u].has_alarm)) {
      waiter = each;
    }
  }
  const bool has_work =
      Leaves(options, next) ||
      (NeedsAlarm(options, next) && options.mutation != kAlarmIsNotHandedOn);
  next.notify_rows = next.notify_instance = 0;
  its.step = Puller::kWake;
  if (waiter != 0 && !has_work) {
    next.notify_rows = Byte(next.queue != 0 ? options.batch : 1);
    next.notify_instance = Byte(waiter - 1);
    its.step = Puller::kLook;
  } else if (!its.leaves || options.mutation != kNoWakeForWhatStaysBehind) {
    its.wake = waiter;
  }
}

bool MovePuller(const PullModelOptions& options, uint8_t index, State& next) {
  const Mutation mutation = options.mutation;
  Puller& its = next.pullers[index];
  switch (its.step++) {
    case Puller::kSleeps:  // until it gets the mutex; takes its key
      if (!its.is_notified || next.is_locked) {
        return false;
      }
      next.is_locked = true;
      std::fill(
          std::remove(next.waiting.begin(), next.waiting.end(), index + 1),
          next.waiting.end(), Byte(0));
      its = {.step = Puller::kPlan, .is_notified = false};
      break;
    case Puller::kPlan:  // leaves or waits
      Drain(next);
      if (Leaves(options, next)) {
        its.leaves = true;
        for (int i = 0; i < options.batch; ++i) {
          TakeOut(Byte(next.queue & -next.queue), next);
        }
        its.step = mutation == kLeavingPublishesNothing ? Puller::kWake
                                                        : Puller::kPublish;
      } else {
        its.has_alarm = NeedsAlarm(options, next);
        *std::ranges::find(next.waiting, 0) = Byte(index + 1);
      }
      break;
    case Puller::kPublish:
      Publish(options, its, next);
      break;
    case Puller::kLook:
      if (next.inbox != 0 &&
          mutation != (its.leaves ? kNoLookAfterLeaversPublication
                                  : kNoLookAfterWaitersPublication)) {
        its.wake = Byte(next.notify_instance + 1);
        next.notify_rows = next.notify_instance = 0;
      }
      break;
    case Puller::kWake:  // an instance, which may be itself
      its.is_notified &= mutation != kKeyTakenAfterPublication;
      if (its.wake != 0) {
        next.pullers[its.wake - 1u].is_notified = true;
        its.wake = 0;
      }
      its.step = its.leaves ? Puller::kRuns : Puller::kSleeps;
      break;
    default:
      return false;
  }
  next.is_locked = next.is_locked && its.step != Puller::kWake;
  return true;
}

bool MoveTimer(const PullModelOptions& options, State& next) {
  const bool locks = options.mutation != kTimerPublishesWithoutMutex;
  Timer& its = next.timer;
  switch (its.step++) {
    case Timer::kSleeps:  // takes its key
      return std::exchange(its.is_notified, false);
    case Timer::kPlan:  // takes the mutex, expires
      if (next.is_locked) {
        return false;
      }
      next.is_locked = locks;
      Drain(next);
      if (std::exchange(its.fires, false)) {
        TakeOut(Byte(next.queue & Lowest(its.look_at)), next);
      }
      its.look_at = FirstDue(next.queue);
      return true;
    case Timer::kPublish:
      next.look_at = its.look_at;
      return true;
    case Timer::kLook:
      if (next.inbox != 0 &&
          options.mutation != kNoLookAfterTimersPublication) {
        next.look_at = 0;
        its.is_notified = true;
      }
      next.is_locked = next.is_locked && !locks;
      its.step = Timer::kSleeps;
      return true;
    default:
      return false;
  }
}

// Time passes: a batch ends, or the window that an instance has the alarm of.
bool PassPullersTime(uint8_t index, State& next) {
  Puller& its = next.pullers[index];
  const bool is_alarmed = its.step == Puller::kSleeps && its.has_alarm;
  const bool passes = its.step == Puller::kRuns || is_alarmed;
  next.is_over = is_alarmed ? next.queue != 0 : next.is_over;
  its.step = Puller::kSleeps;
  its.is_notified = true;
  return passes;
}

bool PassTimersTime(State& next) {
  Timer& its = next.timer;
  its.fires = its.step == Timer::kSleeps && its.look_at != kNever;
  its.is_notified = true;
  return its.fires;
}

// --- exploration -------------------------------------------------------------

std::string Problem(const PullModelOptions& options, State state) {
  Drain(state);
  const bool waits = state.waiting[0] != 0;
  if (waits && Leaves(options, state)) {
    return "a batch waits beside an idle instance";
  }
  if (waits && NeedsAlarm(options, state)) {
    return "requests wait and no instance has the alarm";
  }
  if (options.has_timer && (state.timer.step != Timer::kSleeps ||
                            state.timer.look_at > FirstDue(state.queue))) {
    return "the timer sleeps past a deadline";
  }
  return "";
}

}  // namespace

PullModelResult ExplorePullModel(const PullModelOptions& options) {
  State state = {};
  std::vector<State> open = {state};
  std::unordered_set<std::string> seen;
  const auto play = [&](auto step) {
    State next = state;
    if (!step(next)) {
      return false;
    }
    if (!options.has_timer) {
      MergeAlike(options, next);
    }
    if (seen.emplace(reinterpret_cast<const char*>(&next), sizeof next)
            .second) {
      open.push_back(next);
    }
    return true;
  };
  PullModelResult result;
  while (!open.empty() && result.problem.empty()) {
    state = open.back();
    open.pop_back();
    bool moves = false;
    for (uint8_t i = 0; i < options.producers; ++i) {
      moves |= play([&](State& to) { return MoveProducer(options, i, to); });
    }
    for (uint8_t i = 0; i < options.instances; ++i) {
      moves |= play([&](State& to) { return MovePuller(options, i, to); });
      play([&](State& to) { return PassPullersTime(i, to); });
    }
    moves |= options.has_timer &&
             play([&](State& to) { return MoveTimer(options, to); });
    if (!moves) {
      ++result.at_rest;
      result.problem = Problem(options, state);
    }
    play(PassTimersTime);
  }
  result.states = seen.size();
  return result;
}

}  // namespace ferry
