// Simulation is one run of a Scheduler against arrivals, cancels, deadlines,
// failures and drains, on a clock and instances that it moves itself. A seed
// chooses them, or what tests/fuzz/ gives it.
//
// After every action it checks G1-G5 against a model of its own: a list of
// what is queued, in order, and what each call may be told.
//
// Instances pull and the timer looks only when their threads would have woken:
// when it is time, or when something notified them. In between the guarantees
// must hold as well.
//
// No request is larger than a batch: those have a simulation of their own in
// scheduler_split_test.cc.
//
// kMixed is a little of everything. kOverload is levels of which each has more
// than is served, so that their deficits have a say, for as long as it
// lasts.
//
// What is drawn that was not from the beginning comes from a generator of its
// own, so that the draws of a seed stay what they were; new ones come last.
// What they change in a run they change all the same: so a seed that is named
// for what it found is played with Draws::kFirst, which leaves all that out.
//
// Thread safety: one thread. Errors: test failures.
#ifndef FERRY_TESTS_BATCHER_SIMULATION_H_
#define FERRY_TESTS_BATCHER_SIMULATION_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "tests/batcher/simulation_choices.h"
#include "tests/batcher/simulation_forecast.h"
#include "tests/support/stepped_scheduler.h"

namespace ferry {

class Simulation {
 public:
  enum class Load { kMixed, kOverload };

  enum class Draws { kAll, kFirst };

  explicit Simulation(uint64_t seed, Load load = Load::kMixed,
                      Draws draws = Draws::kAll);
  // kMixed.
  explicit Simulation(std::shared_ptr<Choices> choices);

  // Plays that many actions, unless the choices are over before, then ends the
  // scheduler one way or another.
  void Run(int actions);

 private:
  enum class State { kOutside, kQueued, kRunning };

  struct Call {
    explicit Call(const TestRequestOptions& options) : test(options) {}

    TestRequest test;
    State state = State::kOutside;
    bool is_cancelled = false;
    TimePoint cancelled_at;
    absl::StatusCode result{};  // of its batch, once computed
  };

  // What a level has had since it waits, of what started.
  struct Share {
    double deficit_rows = 0;
    bool has_full_deficit = false;  // the most that it may
    int64_t started_rows = 0;
    int64_t own_rows = 0;
  };

  // The last batch of an instance without a pipeline, until it pulls the next:
  // what one takes ends there.
  struct Pending {
    int32_t rows = 0;  // 0: none
    TimePoint begin;
  };

  // A batch that was started and not answered.
  struct UnderWay {
    const Batch* batch;
    bool has_ended = false;  // it waits for those before it
  };

  Simulation(std::shared_ptr<Choices> choices, std::shared_ptr<Choices> later,
             Load load, Draws draws);

  SteppedSchedulerOptions DrawOptions();
  static SteppedSchedulerOptions RandomOptions(Choices& choices, Load load);
  static void DrawLaterOptions(Choices& later,
                               SteppedSchedulerOptions& options);

  // --- what happens ---
  void Act();
  void ActOverloaded();
  void SubmitNew();
  void SubmitAgain();
  void Submit(Call& call);
  void CancelAny();
  void MoveInstances();
  // The batch's compute ends so, and once it is answered.
  void Compute(const Batch& batch, Outcome outcome);
  void Learn(size_t index);
  void LoseDevice();
  void EndBatch(const Batch& batch);
  void MoveTime();
  void ChangeOptions();
  void Step();
  void End();

  // --- what the scheduler does, checked ---
  void OnStart(const Batch& batch);
  void OnRespond(Call& call);
  void CheckAtRest();
  void CheckWait(bool has_room);
  void CheckCounts();
  void CheckTotals();

  void CheckOrder(const Batch& batch) const;
  void CheckArrivals(const Batch& batch) const;
  void CheckLevels(const Batch& batch) const;
  void CheckShares(const Batch& batch);
  void CheckFill(const Batch& batch) const;
  void CheckReplyOrder(const InferRequest& request);

  // --- what is forecast, checked ---
  void CheckRefusedAsLate(const InferRequest& request,
                          TimePoint latest_answer) const;
  void CheckDropped(const InferRequest& request) const;
  void CheckLetIn(const InferRequest& request);
  // The last moment at which an answer is in time.
  TimePoint LastMoment(const InferRequest& request) const;
  // The latest that may be forecast for a request that is not queued yet.
  TimePoint LatestAnswer(const InferRequest& request) const;

  // --- the model ---
  TimePoint DueOf(const InferRequest& request) const;
  std::optional<Refusal> ExpectedRefusal(const InferRequest& request) const;
  // Whether a batch that holds that much may take the call, too.
  bool Fits(size_t requests, int32_t rows, const Call& call) const;
  // Whether all calls like this one, which is the oldest of them, fit into one
  // batch with room to spare, and no other shape has closed it.
  bool CanGrow(const Call& oldest) const;
  // Whether no call joins a batch of its shape any more, for another's sake.
  bool IsClosedByAnother(const InferRequest& first) const;
  // Whether it does not join one for that.
  bool IsBehindAnother(const InferRequest& request) const;
  bool IsEnough(int32_t rows) const;
  bool HasRoom() const;
  int32_t MostUnderWay() const;
  // Whether something is known about how long batches take, so that requests
  // may be refused or dropped for it.
  bool MayForecast() const { return forecasts_.has_times(); }
  int32_t QueuedRows() const;
  // Returns those of one level.
  int32_t QueuedRequests(int32_t level) const;
  int64_t KeptBytes() const;
  // Whether a thread would pull or look now.
  bool MustStep() { return stepped_.IsStepDue(); }
  bool IsDraining() const { return is_draining_ || is_broken_; }
  TimePoint Now() const { return stepped_.clock().Now(); }

  int64_t Uniform(int64_t low, int64_t high) {
    return choices_->Uniform(low, high);
  }
  bool OneIn(int64_t n) { return choices_->OneIn(n); }
  int64_t LaterUniform(int64_t low, int64_t high) {
    return later_->Uniform(low, high);
  }
  bool LaterOneIn(int64_t n) {
    return draws_ == Draws::kAll && LaterUniform(1, n) == 1;
  }

  const Load load_;
  const Draws draws_;
  const std::shared_ptr<Choices> choices_;
  // For what was not drawn from the beginning.
  const std::shared_ptr<Choices> later_;
  Duration least_compute_{0};  // that a batch takes
  const SteppedSchedulerOptions options_;
  RuntimeOptions runtime_;
  // They bound what is queued: the runtime options' bounds, or what was there
  // when they changed.
  QueueBounds bounds_;
  std::deque<Call> calls_;  // [id]
  SteppedScheduler stepped_;

  std::vector<Call*> queued_;  // accepted, neither started nor answered
  bool is_draining_ = false;
  bool is_broken_ = false;
  bool is_ending_ = false;  // the batcher is being destroyed
  uint64_t accepted_count_ = 0;
  std::deque<UnderWay> under_way_;  // in the order in which they started
  TimePoint last_replied_ = TimePoint::min();  // its arrival
  std::vector<Pending> pending_;               // [instance]
  ForecastBounds forecasts_;
  uint64_t probe_count_ = 0;
  TimePoint next_probe_ = TimePoint::min();
  std::array<Share, kMaxLevels> shares_{};
  std::array<uint64_t, kRefusalCount> refused_count_{};
};

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_SIMULATION_H_
