// WakeUpModel: the hand-over from producers to whoever steps and back from the
// backend, step by step as in admission.cc, push_list.h, step_role.h,
// event_count.{h,cc}, work_queue.cc, batcher.cc, batcher_step.cc and
// batcher_thread.cc, each access to shared memory one step, and each section
// under a lock. Of host_backend.cc only what a batch is to these: started, it
// is put into the queue of the lanes, or a producer runs it; then one thread
// reports ComputeEnded, Finished (where somebody drains) and SlotFree in this
// order, as a lane does that delivers itself. Where `lanes` is 0 each batch's
// reports come from a thread of their own, so those of two batches interleave.
//
// Left to hand_over_model.h: batches that are staged ahead by a thread of their
// own (with `only_full_ahead` they go to the lane at once here), in_flight_,
// who reports a slot that is owed, the thread that delivers, and when it is
// woken.
//
// Modelled: the queue's bound and its closing, the push list (link,
// compare-and-swap, exchange of the whole list), the list of the cancelled, the
// role (ask, begin, leave, hand over), the published waits (rows, moment, slot,
// lane) and the looks before leaving, the own thread's alarm, the event count
// with its futex, lanes that poll or sleep, are woken to step and keep the
// alarm meanwhile, producers that run their batch on an idle lane, and the end
// of a drain. Time stands still while anybody but a device moves; then the next
// alarm rings.
//
// All interleavings are sequentially consistent ones. Of what is modelled,
// weaker in the code are: PushList's exchange, which acquires what the pushes
// released, and its first read of the head, which the compare-and-swap
// confirms; waiting_ of WorkQueue, written under its lock and read outside it
// for a hint; changes_, by which a poll ends, and which only hastens that; and
// what a thread reads of its own writes (wants_lane_, alarm_nanos_). The look
// at the queue of the lanes and the lock of a lane are one step in RunInline()
// here, in HandOverModel two. tests/stress/wake_up_stress_test.cc and
// storm_stress_test.cc run the code under ThreadSanitizer.
//
// Switches leave out one step each, to show that the check would see it.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_BATCHER_MODEL_WAKE_UP_MODEL_H_
#define FERRY_TESTS_BATCHER_MODEL_WAKE_UP_MODEL_H_

#include <algorithm>
#include <cstdint>

#include "tests/batcher/model/explorer.h"

namespace ferry {

struct WakeUpConfig {
  int producers = 2;  // of one request of one row each, at most 3
  // Lanes that may be woken to step, at most 2; 0: one that may not.
  int lanes = 0;
  int slots = 1;                 // of all lanes
  int batch_rows = 3;            // a batch is full with them
  int8_t max_steps = 2;          // on the spot
  bool waits_for_rows = false;   // `window`; else `eager`
  bool has_deadline = false;     // the last producer's request is due first
  int8_t capacity = 3;           // requests that are queued at most
  bool is_cancelled = false;     // somebody cancels the first's request
  bool is_drained = false;       // somebody drains
  bool runs_inline = false;      // a producer, where the only lane is idle
  bool only_full_ahead = false;  // beside a batch on the only lane

  // Bugs to be found.
  bool looks_before_leaving = true;
  bool producer_looks_for_slots = true;
  bool awaits_one_more = true;  // slot than the one that is free
  bool lane_wakes = true;
  bool deadline_wakes = true;
  bool sees_who_asked = true;       // TryLeave() fails for them
  bool sets_alarm_forth = true;     // of the own thread, for an earlier moment
  bool looks_after_alarm = true;    // for an earlier moment, before sleeping
  bool takes_back = true;           // what it counted, where it is refused
  bool hands_alarm_on = true;       // a lane that has work
  bool lane_calls_again = true;     // when the moment has come
  bool counts_who_has_work = true;  // of the lanes that wait
  bool wakes_one_for_each = true;   // though one polls for another's
  bool cancel_wakes = true;
  bool looks_for_cancel = true;     // that came before the push
  bool refused_wakes_drain = true;  // where it counted for a moment
  bool finished_wakes_drain = true;
  bool serves_beside_lane = true;  // where it is not idle
  bool lane_is_locked = true;      // by whoever runs a batch on it
};

class WakeUpModel {
 public:
  static constexpr int kActors = 9;
  struct State {
    // Shared.
    int8_t head = kNone;
    int8_t next[3] = {kNone, kNone, kNone};
    int8_t rows = 0;  // and requests
    int8_t is_closed = 0;
    int8_t is_cancelled = 0;    // the first's
    int8_t holds = 0;           // on it
    int8_t cancelled_list = 0;  // it is there
    int8_t wake_at_rows = 1;
    int8_t wait_until = 0;
    int8_t awaited_slots = 0;  // 0: none
    int8_t wants_lane = 0;
    int8_t free_slots = 0;
    int8_t ends = 0;
    int8_t finished = 0;
    int8_t is_drained = 0;
    int8_t is_waiting = 0;  // of the event count
    int8_t is_asked = 0;
    int8_t is_asked_anew = 0;  // since the step began
    int8_t is_handed_over = 0;
    int8_t alarm = 0;
    // The queue of the lanes.
    int8_t items = 0;
    int8_t to_tell = 0;
    int8_t waiting = 0;
    int8_t polling = 0;
    int8_t is_lane_locked = 0;
    // Of each actor.
    int8_t at[kActors] = {};
    int8_t has_seen_word[kActors] = {};  // of the event count, as it is
    int8_t left_until[kActors] = {};     // of its last step as the stepper
    // Producers.
    int8_t head_seen[3] = {kNone, kNone, kNone};
    int8_t is_refused[3] = {};
    int8_t ended[3] = {};  // how often it was started or answered
    // Lanes.
    int8_t call_at[2] = {kNever, kNever};
    // The own thread.
    int8_t key_is_current = 0;
    int8_t own_until = 0;
    // The stepper.
    int8_t has_stepper = 0;
    int8_t is_inline = 0;    // it is a producer that has the lane
    int8_t inline_work = 0;  // what it started there
    int8_t step_at = 0;
    int8_t steps = 0;
    int8_t queued = 0;  // requests taken, as bits
    int8_t free_seen = 0;
    int8_t ends_seen = 0;
    int8_t finished_seen = 0;
    int8_t closed_seen = 0;
    int8_t until = 0;
    int8_t wake_at = 0;
    int8_t wants_lane_next = 0;
    int8_t batches = 0;  // started
    int8_t now = 0;
  };

  explicit WakeUpModel(const WakeUpConfig& config) : config_(config) {}

  State Start() const;
  // Each actor has two: where it does not matter which lane wakes, or whether
  // one polls, the second leads nowhere else.
  static constexpr int kChoices = 2 * kActors;
  Move Step(State& state, int choice) const;

  // Lets time pass until somebody wakes who sleeps until a moment.
  bool PassTime(State& state) const;

  // What is wrong in a state in which nobody but a device moves; empty:
  // nothing.
  const char* Problem(const State& state) const;

  static constexpr int8_t kNever = 9;

 private:
  static constexpr int8_t kNone = -1;
  static constexpr int8_t kLaneFreeAt = 3;  // just in time
  static constexpr int kMaxBatches = 3;
  static constexpr int kFirstBatch = 3;  // or lane
  static constexpr int kOwnThread = 6;
  static constexpr int kCanceller = 7;
  static constexpr int kDrainer = 8;
  static constexpr int8_t kAsleep = 20;      // the own thread
  static constexpr int8_t kRunsInline = 50;  // a producer, and what follows
  static constexpr int8_t kComputesInline = 57;
  static constexpr int8_t kTakesLane = 59;  // a lane
  static constexpr int8_t kComputes = 60;
  static constexpr int8_t kLeavesLane = 84;
  static constexpr int8_t kLaneSleeps = 100;  // and those that follow
  static constexpr int8_t kLanePolls = 101;
  static constexpr int8_t kLaneWoken = 102;

  // Each takes one step of an actor and returns whether it could.
  bool StepActor(State& state, int actor, bool is_second) const;
  bool StepProducer(State& state, int producer, bool is_second) const;
  bool StepInline(State& state, int producer, bool is_second) const;
  bool StepBatch(State& state, int batch) const;
  bool StepLane(State& state, int lane, bool is_second) const;
  bool StepOwnThread(State& state, bool is_second) const;
  bool StepCanceller(State& state, bool is_second) const;
  bool StepDrainer(State& state, bool is_second) const;
  // ComputeEnded(), Finished() and SlotFree() from step `first` of the actor
  // on; after it the actor is at first + 24.
  bool StepEvents(State& state, int actor, int8_t first, bool is_second) const;
  // SlotAwaitsRows() and AskForStep(), from step `first` on; after it the actor
  // is at `end`.
  bool StepSlotAwaitsRows(State& state, int actor, int8_t first, int8_t end,
                          bool is_second) const;
  // AskForStep(), from step `first` of the actor on; after it the actor is at
  // first + 5.
  bool StepAsk(State& state, int actor, int8_t first, bool is_second) const;
  // WakeLane(), from step `first` on; then the actor is at `woken` or at
  // `not_woken`.
  void StepWakeOne(State& state, int actor, int8_t first, int8_t woken,
                   int8_t not_woken, bool is_second) const;
  // StepOn().
  enum class Role : int8_t { kKept, kLeft, kHandedOver };
  Role StepAsStepper(State& state, bool has_limit, bool is_second) const;
  // HasNews() and what follows.
  Role StepToLeave(State& state, bool has_limit) const;
  // The steps of EventCount::Notify() from `first` on; after it the actor is at
  // first + 2.
  bool StepNotify(State& state, int actor, int8_t first) const;
  void Decide(State& state) const;
  void AnswerQueued(State& state, int request) const;
  // The lane, with the lock held: takes what there is, or waits.
  void Look(State& state, int lane, bool is_second) const;
  // Whether whoever put something in must wake a lane that sleeps.
  bool MustWake(const State& state) const;
  void Signal(State& state, bool is_second) const;

  // Whether what may grow waits for one more slot than there are.
  bool TakesOnlyFull(int8_t free_slots) const {
    return config_.only_full_ahead && free_slots < config_.slots;
  }
  bool HasIdleLane(const State& state, int8_t ends) const {
    return state.batches - ends < std::max(config_.lanes, 1);
  }
  // When the first of those wakes who sleep until a moment.
  int8_t FirstAlarm(const State& state) const;
  const char* ProblemOf(const State& state, int request) const;
  int8_t DueOf(int request) const {
    return config_.has_deadline && request == config_.producers - 1 ? 1
                                                                    : kNever;
  }
  // Which of two that do the same is the first does not matter.
  void MakeEqual(State& state) const;

  const WakeUpConfig config_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_MODEL_WAKE_UP_MODEL_H_
