// HandOverModel: a batch's way through a HostBackend that stages ahead, step by
// step as in host_backend.cc, work_queue.cc and delivery_queue.cc: each access
// to an atomic is one step, and each section under a lock. The one lane has two
// slots and two staging places.
//
// Modelled, each a thread of its own: callers that bring batches, one of whom
// may run them where the lane sleeps (RunInline(), and a gate that refuses),
// the lane, the stager, the deliverer, and whoever destroys the backend.
// Shared: the three queues with their signals, staged_, in_flight_,
// owed_slots_, the lane's lock, and the moment at which the deliverer looks by
// itself.
//
// What hangs on time may go either way at any moment: a batch leaves ahead or
// waits for the lane; the lane sleeps or polls; it delivers a batch or hands it
// over; it expects an end, or cannot tell; a timer that is set fires at any
// later step; a Push() finds that it would fire too late, or not; the deliverer
// sets none any more until the next Expect(). A thread that sleeps without a
// timer wakes only if it is woken (or for nothing, on which nobody may count).
// How early a look comes is left to delivery_queue_test.cc.
//
// The batcher is one that does not err: whoever reports something while a batch
// waits asks for a step. Which of these steps it may spare, lanes woken to
// step, alarms, cancels and drains: wake_up_model.h. Left out of both: stages
// that fail, a gate that holds up. Not looked for: threads that go round for
// ever.
//
// All interleavings are sequentially consistent ones; what a weaker order
// allows beyond them is not seen. Why atomics of HostBackend may have one:
//   - in_flight_: who adds to it is the stepper, one after the other. Where it
//     is too high a batch goes by the stager, who stages only what is next
//     (staged_: acquire, release); it is never too low. To RunInline() it is a
//     hint, the lane's lock decides.
//   - owed_slots_: only added to and exchanged, so no slot is counted twice or
//     lost; who adds then exchanges, or puts its batch where the deliverer
//     takes it, under a lock, and then exchanges. Added with release and taken
//     with acquire, so that who reports a slot is behind the compute that had
//     it.
//   - inline_thread_: equals a thread's id only if that thread has stored it.
//   - waiting_ of a queue: written under its lock, and read there or as a hint;
//     spared_ of DeliveryQueue is a statistic.
// With real threads, for ThreadSanitizer: host_backend_staging_test.cc,
// host_backend_inline_test.cc, delivery_queue_test.cc, work_queue_test.cc, and
// storm_stress_test.cc (EveryCallEndsOnceWhereFullBatchesAreStagedAhead).
//
// Switches leave out or misplace one step each, to show that the check would
// see it.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_BATCHER_MODEL_HAND_OVER_MODEL_H_
#define FERRY_TESTS_BATCHER_MODEL_HAND_OVER_MODEL_H_

#include <cstdint>

#include "tests/batcher/model/explorer.h"

namespace ferry {

struct HandOverConfig {
  int batches = 3;                 // that come, at most 4
  int callers = 1;                 // that bring them, at most 2
  bool runs_inline = false;        // the last caller, where the lane sleeps
  bool lane_polls = false;         // now and then, before it sleeps
  bool wakes_for_nothing = false;  // threads that sleep, now and then
  int max_batches = 4;             // started and not delivered
  bool is_closed = false;          // when all have been started

  // Bugs to be found.
  bool lane_reports = true;       // what is owed, where it does not go on
  bool deliverer_reports = true;  // what is owed when it takes a batch
  bool delivers_once = true;      // else hands over what it delivered itself
  bool exchanges_owed = true;     // else it reads, then subtracts
  bool owes_before_push = true;   // to the deliverer
  bool looks_at_timer = true;     // else sleeps on, without one; the deliverer
  bool wakes_if_no_timer = true;  // the deliverer
  bool sleeps_under_lock = true;  // in which it looked; the deliverer
  bool wakes_stager = true;
  bool stager_wakes_lane = true;
  bool stages_in_turn = true;      // the stager
  bool pushes_when_staged = true;  // the stager; else before it stages
  bool counts_when_staged = true;  // else before it stages
  bool counts_in_flight = true;    // else looks into the lane's queue
  bool lane_is_locked = true;      // by whoever runs a batch on it
  bool waits_for_stager = true;    // before the lane's queue is closed
};

class HandOverModel {
 public:
  static constexpr int kActors = 6;
  static constexpr int kMaxBatches = 4;

  // Batches by their numbers, oldest first.
  struct Fifo {
    int8_t size = 0;
    int8_t items[kMaxBatches] = {};

    void Push(int8_t batch) { items[size++] = batch; }
    int8_t Pop();
  };

  struct State {
    // The batcher.
    int8_t came = 0;
    int8_t started = 0;
    int8_t free_slots = kSlots;
    int8_t ends = 0;
    int8_t finished = 0;
    int8_t has_stepper = 0;
    int8_t is_asked_anew = 0;
    int8_t step_at = 0;
    // The backend.
    int8_t in_flight = 0;
    int8_t owed_slots = 0;
    int8_t staged = 0;
    int8_t inline_thread = kNone;
    int8_t inline_work = kNone;
    int8_t is_lane_locked = 0;
    Fifo to_stage;
    Fifo to_compute;
    Fifo to_deliver;
    int8_t is_closed = 0;  // queues, as bits
    int8_t expects = 0;    // the deliverer may set a timer
    int8_t timer = 0;      // looks_at_ is a moment
    // The model.
    Fifo placed;          // staged and not computed
    int8_t stagings = 0;  // in Stage() at the moment
    // Batches, as bits.
    int8_t is_staged = 0;
    int8_t is_computed = 0;
    int8_t is_delivered = 0;
    // Of each actor.
    int8_t at[kActors] = {};
    int8_t back[kActors] = {};  // where it goes after a step of the batcher
    int8_t batch[kActors] = {kNone, kNone, kNone, kNone, kNone, kNone};
    int8_t owed[kActors] = {};      // taken, and not reported
    int8_t delivers[kActors] = {};  // its batch itself
    int8_t goes_on[kActors] = {};   // has the next batch
    int8_t fault = 0;               // what has gone wrong
  };

  explicit HandOverModel(const HandOverConfig& config) : config_(config) {}

  State Start() const;
  static constexpr int kChoices = 2 * kActors;  // of each: as it is free to
  Move Step(State& state, int choice) const;

  // What has gone wrong on the way to a state; empty: nothing.
  const char* Wrong(const State& state) const;
  // What is wrong where nobody moves but who computes.
  const char* Problem(const State& state) const;

 private:
  static constexpr int8_t kSlots = 2;
  static constexpr int8_t kNone = -1;
  static constexpr int kLane = 2;  // before it: the callers
  static constexpr int kStager = 3;
  static constexpr int kDeliverer = 4;
  static constexpr int kCloser = 5;
  enum Fault : int8_t {
    kNoFault,
    kNotFirstStaged,
    kTwoOnLane,
    kComputedTwice,
    kTwoStagings,
    kNoPlace,
    kSlotTwice,
    kDeliveredTwice,
  };

  // Where an actor is: what it does next. All but kCloser begin at 0.
  enum At : int8_t {
    kLooks = 0,  // for work; of callers: brings a batch
    kSleeps,     // until it is woken
    kWoken,
    kPolls,
    kExited,
    kAsks,  // for a step of the batcher
    kSteps,
    // Callers, in RunInline().
    kLend = 10,
    kLendIfIdle,
    kLendsLock,
    kTakesInline,
    kRefuses,
    kRefusedSignals,
    // RunBatch().
    kRuns = 20,
    kStages,
    kStaged,
    kBegins,
    kComputes,
    kEnds,
    kUncounts,
    kOwes,
    kHasWork,
    kFrees,
    kSubtracts,
    kReports,
    kHasWorkNow,
    kHandsOver,
    kSignals,
    kFinishes,
    kLeaves,
    // The stager.
    kTurn = 40,
    kPasses,
    kPassesSignal,
    // The deliverer.
    kFallsAsleep = 50,
    // Whoever destroys the backend, and what follows.
    kCloses = 60,
    kClosed = 66,
  };

  // One of two ways, where a step may go either; whoever has no use for the
  // second does not ask.
  struct Coin {
    bool is_second = false;
    bool is_asked = false;

    bool Toss() {
      is_asked = true;
      return is_second;
    }
  };

  // Each takes one step of an actor and returns whether it could.
  bool StepActor(State& state, int actor, Coin& coin) const;
  bool StepCaller(State& state, int caller, Coin& coin) const;
  bool StepLane(State& state, Coin& coin) const;
  bool StepStager(State& state) const;
  bool StepDeliverer(State& state, Coin& coin) const;
  bool StepCloser(State& state) const;
  // RunBatch(), by the lane or by a caller.
  void StepRun(State& state, int actor, Coin& coin) const;
  void StepHandOver(State& state, int actor, Coin& coin) const;
  void StepStage(State& state, int actor, At end) const;
  void StepFreeSlots(State& state, int actor, At end) const;
  void StepFinished(State& state, int actor, At end) const;
  // Of the batcher, and Start().
  void StepAsk(State& state, int actor, Coin& coin) const;
  void StepStepper(State& state, int actor, Coin& coin) const;

  // Pop(), under the lock.
  void LaneLooks(State& state, Coin& coin) const;
  void StagerLooks(State& state) const;
  void DelivererLooks(State& state, Coin& coin) const;
  void DelivererSleeps(State& state, Coin& coin) const;

  // Asks for a step where a batch waits, and goes on from `end`.
  void AskThen(State& state, int actor, At end) const;
  bool IsClosed(const State& state, int actor) const;
  // Into the lane's queue; returns whether that wakes the lane.
  static bool PushToLane(State& state, int8_t batch);
  static void Signal(State& state, int actor);

  const HandOverConfig config_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_MODEL_HAND_OVER_MODEL_H_
