// WakeUpModel: the hand-over from producers to whoever steps and back from the
// backend, step by step as in push_list.h, step_role.h, event_count.{h,cc},
// batcher.cc, batcher_step.cc and batcher_thread.cc, each access to shared
// memory one step.
//
// Modelled: the push list (link, compare-and-swap, exchange of the whole list),
// the role (ask, begin, leave, hand over), the published waits (rows, moment,
// slot, lane) and the looks before leaving, the own thread's alarm, and the
// event count with its futex. Not modelled: a lane that is woken to step itself
// (one mutex). Time stands still while anybody can move; then the alarm rings.
//
// Switches leave out one step each, to show that the check would see it.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_BATCHER_MODEL_WAKE_UP_MODEL_H_
#define FERRY_TESTS_BATCHER_MODEL_WAKE_UP_MODEL_H_

#include <cstdint>

namespace ferry {

struct WakeUpConfig {
  int producers = 2;            // of one request of one row each, at most 3
  int slots = 1;                // of one lane
  int batch_rows = 3;           // a batch is full with them
  int8_t max_steps = 2;         // on the spot
  bool waits_for_rows = false;  // `window`; else `eager`
  bool has_deadline = false;    // the last producer's request is due first

  // Bugs to be found.
  bool looks_before_leaving = true;
  bool producer_looks_for_slots = true;
  bool lane_wakes = true;
  bool deadline_wakes = true;
  bool sees_who_asked = true;     // TryLeave() fails for them
  bool sets_alarm_forth = true;   // of the own thread, for an earlier moment
  bool looks_after_alarm = true;  // for an earlier moment, before sleeping
};

class WakeUpModel {
 public:
  struct State {
    // Shared.
    int8_t head = kNone;
    int8_t next[3] = {kNone, kNone, kNone};
    int8_t rows = 0;
    int8_t wake_at_rows = 1;
    int8_t wait_until = 0;
    int8_t wants_slot = 0;
    int8_t wants_lane = 0;
    int8_t free_slots = 0;
    int8_t ends = 0;
    int8_t wake_ups = 0;
    int8_t is_waiting = 0;
    int8_t asked = 0;
    int8_t is_handed_over = 0;
    int8_t alarm = 0;
    // Producers, then the backend's batches, then the own thread.
    int8_t at[7] = {};
    int8_t seen[7] = {};
    int8_t left_until[7] = {};  // of its last step as the stepper
    // The own thread.
    int8_t key = 0;
    int8_t own_until = 0;
    // The stepper.
    int8_t has_stepper = 0;
    int8_t step_at = 0;
    int8_t steps = 0;
    int8_t role_seen = 0;
    int8_t queued = 0;  // requests taken, as bits
    int8_t free_seen = 0;
    int8_t ends_seen = 0;
    int8_t until = 0;
    int8_t wake_at = 0;
    int8_t wants_lane_next = 0;
    int8_t batches = 0;  // started
    int8_t now = 0;
    // Of each request: how often it was started.
    int8_t started[3] = {};
  };

  explicit WakeUpModel(const WakeUpConfig& config) : config_(config) {}

  State Start() const;
  int threads() const { return 1 + config_.producers + kMaxBatches; }
  bool Step(State& state, int thread) const;

  // Lets time pass where the own thread sleeps until a moment.
  bool PassTime(State& state) const;

  // What is wrong in a state in which nobody can move; empty: nothing.
  const char* Problem(const State& state) const;

  static constexpr int8_t kNever = 9;

 private:
  static constexpr int8_t kNone = -1;
  static constexpr int kMaxBatches = 3;
  static constexpr int kFirstBatch = 3;
  static constexpr int kOwnThread = 6;
  static constexpr int8_t kAsleep = 20;

  // Each takes one step of an actor and returns whether it could.
  bool StepProducer(State& state, int producer) const;
  bool StepBatch(State& state, int batch) const;
  bool StepOwnThread(State& state) const;
  bool StepSlotAwaitsRows(State& state, int actor) const;
  // AskForStep(), from step `first` of the actor on; after it the actor is at
  // first + 5.
  bool StepAsk(State& state, int actor, int8_t first) const;
  // StepOn().
  enum class Role : int8_t { kKept, kLeft, kHandedOver };
  Role StepAsStepper(State& state, bool has_limit) const;
  // The steps of EventCount::Notify() from `first` on; after it the actor is at
  // first + 2.
  bool StepNotify(State& state, int actor, int8_t first) const;
  void Decide(State& state) const;
  int8_t DueOf(int request) const {
    return config_.has_deadline && request == config_.producers - 1 ? 1
                                                                    : kNever;
  }

  const WakeUpConfig config_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_MODEL_WAKE_UP_MODEL_H_
