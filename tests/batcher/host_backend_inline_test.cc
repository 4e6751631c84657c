// HostBackend::RunInline(): whose batch runs where, and what a lane that is
// lent leaves to others.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "batcher/host_backend.h"
#include "batcher/weighted_gate.h"
#include "tests/batcher/scripted_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

constexpr auto kNothing = [] {};

// Where the batches of a model were computed, first to last.
class Threads {
 public:
  auto Noting() {
    return [this](const Batch&) -> Outcome {
      seen_.push_back(std::this_thread::get_id());
      return {};
    };
  }
  bool IsHere(size_t batch) const {
    return seen_.at(batch) == std::this_thread::get_id();
  }
  size_t count() const { return seen_.size(); }

 private:
  std::vector<std::thread::id> seen_;
};

TEST(RunInline, RunsWhatTheStepStartsOnTheCallingThread) {
  Threads computed;
  Events events;
  std::thread::id answered_on;
  events.on_finished = [&] { answered_on = std::this_thread::get_id(); };
  auto backend = MakeBackend(OneModel(computed.Noting()));
  TestRequest request;
  EXPECT_TRUE(
      backend->RunInline([&] { backend->Start(BatchOf(request), events); }));
  ASSERT_EQ(computed.count(), 1u);
  EXPECT_TRUE(computed.IsHere(0));
  EXPECT_EQ(answered_on, std::this_thread::get_id());
  EXPECT_EQ(events.finished, 1);
  EXPECT_EQ(events.slots_freed, 1);
  EXPECT_EQ(events.lanes_seen[0], 1) << "it counts as the lane's";
  EXPECT_TRUE(events.held_lane);
}

TEST(RunInline, WhatIsStartedElsewhereIsTheExecutors) {
  Threads computed;
  Events events;
  auto backend =
      MakeBackend(OneModel(computed.Noting()), {.slots_per_lane = 2});
  TestRequest requests[4];
  backend->Start(BatchOf(requests[0]), events);  // before
  events.WaitForFinished(1);
  bool is_lent = false;
  while (!is_lent) {  // its executor may not have come back yet
    is_lent = backend->RunInline([&] {
      backend->Start(BatchOf(requests[1]), events);
      backend->Start(BatchOf(requests[2]), events);  // one too many
    });
  }
  backend->Start(BatchOf(requests[3]), events);  // after
  backend.reset();
  ASSERT_EQ(computed.count(), 4u);
  EXPECT_FALSE(computed.IsHere(0));
  EXPECT_TRUE(computed.IsHere(1));
  EXPECT_FALSE(computed.IsHere(2));
  EXPECT_FALSE(computed.IsHere(3));
}

TEST(RunInline, StepOfAnotherThreadStartsItsBatchesOnTheLane) {
  Threads computed;
  Events events;
  auto backend = MakeBackend(OneModel(computed.Noting()));
  TestRequest request;
  EXPECT_TRUE(backend->RunInline([&] {
    std::thread([&] { backend->Start(BatchOf(request), events); }).join();
  }));
  backend.reset();
  ASSERT_EQ(computed.count(), 1u);
  EXPECT_FALSE(computed.IsHere(0));
}

TEST(RunInline, BusyLaneIsNotLent) {
  std::latch computes(1);
  std::latch may_end(1);
  Events events;
  auto backend = MakeBackend(OneModel([&](const Batch&) -> Outcome {
    computes.count_down();
    may_end.wait();
    return {};
  }));
  TestRequest request;
  backend->Start(BatchOf(request), events);
  computes.wait();
  EXPECT_FALSE(backend->RunInline([] { ADD_FAILURE() << "it stepped"; }));
  may_end.count_down();
}

TEST(RunInline, LaneThatIsLentRunsNothingElse) {
  std::atomic<int> computing{0};
  Events events;
  auto backend = MakeBackend(OneModel([&](const Batch&) -> Outcome {
                               EXPECT_EQ(++computing, 1);
                               std::this_thread::yield();
                               --computing;
                               return {};
                             }),
                             {.slots_per_lane = 2});
  constexpr int kRounds = 500;
  std::vector<TestRequest> requests(2 * kRounds);
  for (int i = 0; i < kRounds; ++i) {
    TestRequest& first = requests[static_cast<size_t>(2 * i)];
    TestRequest& second = requests[static_cast<size_t>(2 * i + 1)];
    backend->Start(BatchOf(first), events);  // the executor's
    if (!backend->RunInline([&] { backend->Start(BatchOf(second), events); })) {
      backend->Start(BatchOf(second), events);
    }
    events.WaitForFinished(2 * i + 2);
  }
}

TEST(RunInline, BatchThatCannotBeStagedFailsAndReturnsTheLane) {
  auto model = std::make_unique<ScriptedModel>();
  model->on_stage = [](const Batch&) -> Outcome {
    return {absl::StatusCode::kInternal, "no"};
  };
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(std::move(model));
  WeightedGate gate(/*permits=*/1);
  Events events;
  auto backend = MakeBackend(std::move(models), {.gate = &gate});
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    EXPECT_TRUE(
        backend->RunInline([&] { backend->Start(BatchOf(request), events); }));
    EXPECT_EQ(request.code(), absl::StatusCode::kInternal);
  }
}

// --- beside another model's lane ---------------------------------------------

class Neighbour final : public GateClient {
 public:
  explicit Neighbour(GateShare& its_share) : GateClient(its_share) {}
  void GateFree() override {}
};

TEST(RunInline, NeitherWaitsForItsTurnNorKeepsIt) {
  WeightedGate gate(/*permits=*/1);
  GateShare share;
  Neighbour neighbour(share);
  Threads computed;
  Events events;
  auto backend = MakeBackend(OneModel(computed.Noting()), {.gate = &gate});
  const auto now = [] { return Clock::Steady().Now(); };
  ASSERT_TRUE(gate.TryEnter(neighbour, now()).is_let_in);
  EXPECT_FALSE(backend->RunInline([] { ADD_FAILURE() << "it stepped"; }));
  gate.Leave(neighbour, Duration(0), now());
  EXPECT_TRUE(backend->RunInline(kNothing));
  TestRequest request;
  EXPECT_TRUE(
      backend->RunInline([&] { backend->Start(BatchOf(request), events); }));
  EXPECT_TRUE(computed.IsHere(0));
  // For a moment a place is kept for the model that left.
  DeviceGate::Turn turn = gate.TryEnter(neighbour, now());
  while (!turn.is_let_in) {
    turn = gate.TryEnter(neighbour, now());
  }
  gate.Leave(neighbour, Duration(0), now());
}

// --- for which models --------------------------------------------------------

Duration MaxInlineRun(ModelSpec spec, bool runs_on_any_thread = true,
                      size_t lanes = 1) {
  std::vector<std::unique_ptr<HostModel>> models;
  for (size_t i = 0; i < lanes; ++i) {
    auto model = std::make_unique<ScriptedModel>();
    model->spec_of_rows = spec;
    model->on_any_thread = runs_on_any_thread;
    models.push_back(std::move(model));
  }
  return MakeBackend(std::move(models), {.max_inline_run = Milliseconds(1)})
      ->max_inline_run();
}

TEST(RunInline, IsForModelsWhoseBatchesMayRunHereAndAreOfKnownLength) {
  EXPECT_EQ(MaxInlineRun(RowSpec()), Milliseconds(1));
  EXPECT_EQ(MaxInlineRun(RowSpec(), /*runs_on_any_thread=*/false), Duration(0));
  EXPECT_EQ(MaxInlineRun(RowSpec(), true, /*lanes=*/2), Duration(0));
  EXPECT_EQ(MaxInlineRun(RowSpec(kAnySize)), Duration(0));
  ModelSpec texts = RowSpec();
  texts.inputs[0].type = DataType::kBytes;
  EXPECT_EQ(MaxInlineRun(texts), Duration(0));
}

}  // namespace
}  // namespace ferry
