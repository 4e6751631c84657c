// Simulation: one seeded run of a Batcher against random arrivals, cancels,
// deadlines, failures and drains, on a clock and a backend it moves itself.
//
// After every action it checks G1-G5 against a model of its own: a list of
// what is queued, in order, and what each call may be told.
//
// The batcher is stepped only when its own thread would have woken: when what
// Step() returned says so, or when something notified it. In between the
// guarantees must hold as well.
//
// No request is larger than a batch: those have a simulation of their own in
// batcher_split_test.cc.
//
// kMixed is a little of everything. kOverload is levels of which each has more
// than is served, so that what they are owed has a say, for as long as it
// lasts.
//
// Thread safety: one thread. Errors: test failures.
#ifndef FERRY_TESTS_BATCHER_SIMULATION_H_
#define FERRY_TESTS_BATCHER_SIMULATION_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/stepped_batcher.h"

namespace ferry {

class Simulation {
 public:
  enum class Load { kMixed, kOverload };

  explicit Simulation(uint64_t seed, Load load = Load::kMixed);

  // Plays that many actions, then ends the batcher one way or another.
  void Run(int actions);

 private:
  enum class State { kOutside, kQueued, kRunning };

  struct Call {
    explicit Call(const TestRequestOptions& options) : test(options) {}

    TestRequest test;
    State state = State::kOutside;
    bool is_cancelled = false;
    absl::StatusCode result{};  // of its batch, once computed
  };

  // What a level has had since it waits, of what started.
  struct Share {
    double owed_rows = 0;
    bool has_saved_up = false;  // the most that it may
    int64_t started_rows = 0;
    int64_t own_rows = 0;
  };

  static SteppedBatcherOptions RandomOptions(std::mt19937_64& random,
                                             Load load);

  // --- what happens ---
  void Act();
  void ActOverloaded();
  void SubmitNew();
  void SubmitAgain();
  void Submit(Call& call);
  void CancelAny();
  void MoveBackend();
  void MoveTime();
  void TurnKnobs();
  void Step();
  void End();

  // --- what the batcher does, checked ---
  void OnStart(const Batch& batch);
  void OnRespond(Call& call);
  void CheckAtRest();
  void CheckWait(bool has_room);
  void CheckCounts();
  void CheckTotals();

  void CheckOrder(const Batch& batch) const;
  void CheckLevels(const Batch& batch) const;
  void CheckShares(const Batch& batch);
  void CheckFill(const Batch& batch) const;

  // --- the model ---
  TimePoint DueOf(const InferRequest& request) const;
  std::optional<Refusal> ExpectedRefusal(const InferRequest& request) const;
  // Whether a batch that holds that much may take the call, too.
  bool Fits(size_t requests, int32_t rows, const Call& call) const;
  // Whether all calls like this one, which is the oldest of them, fit into one
  // batch with room to spare.
  bool CanGrow(const Call& oldest) const;
  bool HasRoom() const;
  bool HasIdleLane() const;
  // Whether something is known about how long batches take, so that requests
  // may be refused or dropped for it.
  bool MayForecast() const { return computed_count_ > 0; }
  int32_t QueuedRows() const;
  // Of one level.
  int32_t QueuedRequests(int32_t level) const;
  int64_t KeptBytes() const;
  // Whether the batcher's own thread would step now.
  bool MustStep() {
    return !has_stepped_ || Now() >= wait_.until ||
           stepped_.batcher().WasNotified();
  }
  bool IsDraining() const { return is_draining_ || is_broken_; }
  TimePoint Now() const { return stepped_.clock().Now(); }

  int64_t Uniform(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool OneIn(int64_t n) { return Uniform(1, n) == 1; }

  const Load load_;
  std::mt19937_64 random_;
  const SteppedBatcherOptions options_;
  Knobs knobs_;
  // Of what is queued: the knobs', or what was there when they were turned.
  QueueBounds bounds_;
  std::deque<Call> calls_;  // [id]
  SteppedBatcher stepped_;

  std::vector<Call*> queued_;  // accepted, neither started nor answered
  Wait wait_;                  // of the last step
  bool has_stepped_ = false;
  bool is_draining_ = false;
  bool is_broken_ = false;
  bool is_ending_ = false;  // the batcher is being destroyed
  uint64_t accepted_count_ = 0;
  int64_t computed_count_ = 0;
  std::array<Share, kMaxLevels> shares_{};
  std::array<uint64_t, kRefusalCount> refused_count_{};
};

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_SIMULATION_H_
