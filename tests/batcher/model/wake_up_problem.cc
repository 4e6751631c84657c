// What must hold while nobody but a device moves, and which states are equal.
#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/batcher/model/wake_up_model.h"

namespace ferry {

int8_t WakeUpModel::FirstAlarm(const State& state) const {
  int8_t first = state.at[kOwnThread] == kAsleep ? state.alarm : kNever;
  for (int lane = 0; lane < config_.lanes; ++lane) {
    if (state.at[kFirstBatch + lane] == kLaneSleeps) {
      first = std::min(first, state.call_at[lane]);
    }
  }
  return first;
}

bool WakeUpModel::PassTime(State& state) const {
  const int8_t first = FirstAlarm(state);
  if (first == kNever || first <= state.now) {
    return false;
  }
  state.now = first;
  return true;
}

const char* WakeUpModel::Problem(const State& state) const {
  if (state.at[kOwnThread] != kAsleep) {
    return "the own thread is stuck";
  }
  if (state.has_stepper != 0 || state.is_handed_over != 0) {
    return "the stepper is stuck";
  }
  if (state.items > 0 || state.to_tell != 0) {
    for (int lane = 0; lane < config_.lanes; ++lane) {
      if (state.at[kFirstBatch + lane] == kLaneSleeps) {
        return "a lane sleeps beside work";
      }
    }
  }
  int computing = 0;
  for (int producer = 0; producer < config_.producers; ++producer) {
    computing += state.at[producer] == kComputesInline ? 1 : 0;
  }
  for (int lane = 0; lane < config_.lanes; ++lane) {
    computing += state.at[kFirstBatch + lane] == kComputes ? 1 : 0;
  }
  if (computing > std::max(config_.lanes, 0)) {
    return "a lane runs two batches at once";
  }
  if (state.wait_until < FirstAlarm(state)) {
    return "nobody wakes when it is time";
  }
  bool is_over = state.batches == state.ends;
  for (int request = 0; request < config_.producers; ++request) {
    if (const char* const problem = ProblemOf(state, request);
        *problem != '\0') {
      return problem;
    }
    is_over =
        is_over && (state.ended[request] > 0 || state.is_refused[request] != 0);
  }
  if (is_over && state.rows != 0) {
    return "rows were miscounted";
  }
  if (is_over && state.holds != 0) {
    return "a request is never released";
  }
  if (config_.is_drained && is_over != (state.is_drained != 0)) {
    return is_over ? "a drain never ends" : "a drain has ended too early";
  }
  return "";
}

const char* WakeUpModel::ProblemOf(const State& state, int request) const {
  if (state.is_refused[request] + state.ended[request] > 1) {
    return "a request has ended twice";
  }
  if (state.is_refused[request] != 0 || state.ended[request] != 0) {
    return "";
  }
  if (request == 0 && state.is_cancelled != 0) {
    return "a cancelled request waits";
  }
  if (DueOf(request) < FirstAlarm(state)) {
    return "nobody wakes when a request is due";
  }
  if (state.free_slots == 0) {
    return "";
  }
  if (!HasIdleLane(state, state.ends)) {
    const bool may_leave =
        config_.only_full_ahead && state.rows >= config_.batch_rows;
    return may_leave &&
                   (state.now >= kLaneFreeAt || FirstAlarm(state) > kLaneFreeAt)
               ? "a full batch waits"
               : "";
  }
  if (!config_.waits_for_rows) {
    return "a request waits beside an idle lane";
  }
  if (config_.is_drained && state.is_closed != 0) {
    return "a request waits for company in a drain";
  }
  if (state.rows >= config_.batch_rows) {
    return "a full batch waits";
  }
  return FirstAlarm(state) == kNever ? "a request waits for ever" : "";
}

namespace {

using State = WakeUpModel::State;

template <typename Array>
void Swap(Array& array, int a, int b) {
  std::swap(array[a], array[b]);
}

void SwapActors(State& state, int a, int b) {
  Swap(state.at, a, b);
  Swap(state.has_seen_word, a, b);
  Swap(state.left_until, a, b);
}

void SwapProducers(State& state, int a, int b) {
  SwapActors(state, a, b);
  Swap(state.next, a, b);
  Swap(state.head_seen, a, b);
  Swap(state.is_refused, a, b);
  Swap(state.ended, a, b);
  const int differ = (state.queued >> a ^ state.queued >> b) & 1;
  state.queued =
      static_cast<int8_t>(state.queued ^ (differ << a | differ << b));
  const auto rename = [a, b](int8_t& request) {
    if (request == a || request == b) {
      request = static_cast<int8_t>(a + b - request);
    }
  };
  rename(state.head);
  for (int i = 0; i < 3; ++i) {
    rename(state.next[i]);
    rename(state.head_seen[i]);
  }
}

}  // namespace

void WakeUpModel::MakeEqual(State& state) const {
  const int first = config_.is_cancelled ? 1 : 0;
  const int last = config_.producers - (config_.has_deadline ? 2 : 1);
  const auto key = [&state](int i) {
    return std::tuple(state.at[i], state.ended[i], state.is_refused[i],
                      state.queued >> i & 1, state.left_until[i],
                      state.has_seen_word[i], state.next[i]);
  };
  for (int i = first; i < last; ++i) {
    for (int j = i; j >= first && key(j + 1) < key(j); --j) {
      SwapProducers(state, j, j + 1);
    }
  }
  if (config_.lanes == 2) {
    const auto lane_key = [&state](int lane) {
      const int actor = kFirstBatch + lane;
      return std::tuple(state.at[actor], state.call_at[lane],
                        state.left_until[actor], state.has_seen_word[actor]);
    };
    if (lane_key(1) < lane_key(0)) {
      SwapActors(state, kFirstBatch, kFirstBatch + 1);
      Swap(state.call_at, 0, 1);
    }
  }
}

}  // namespace ferry
