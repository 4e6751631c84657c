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

// Runs `step` once the lane's executor sleeps.
template <typename Step>
InlineRun RunInline(HostBackend& backend, const Step& step) {
  InlineRun run = InlineRun::kNotLent;
  while (run == InlineRun::kNotLent) {
    run = backend.RunInline(step);
  }
  return run;
}

TEST(RunInline, RunsWhatTheStepStartsOnTheCallingThread) {
  Threads computed;
  Events events;
  std::thread::id answered_on;
  events.on_finished = [&] { answered_on = std::this_thread::get_id(); };
  auto backend = MakeBackend(OneModel(computed.Noting()));
  TestRequest request;
  EXPECT_EQ(
      RunInline(*backend, [&] { backend->Start(BatchOf(request), events); }),
      InlineRun::kRan);
  ASSERT_EQ(computed.count(), 1u);
  EXPECT_TRUE(computed.IsHere(0));
  EXPECT_EQ(answered_on, std::this_thread::get_id());
  EXPECT_EQ(events.finished, 1);
  EXPECT_EQ(events.slots_freed, 1);
  EXPECT_EQ(events.lanes_seen[0], 1) << "it counts as the lane's";
  EXPECT_TRUE(events.held_lane);
}

TEST(RunInline, WhatIsStartedBeforeOrAfterIsTheExecutors) {
  Threads computed;
  Events events;
  auto backend = MakeBackend(OneModel(computed.Noting()));
  TestRequest requests[3];
  backend->Start(BatchOf(requests[0]), events);
  events.WaitForFinished(1);
  RunInline(*backend, [&] { backend->Start(BatchOf(requests[1]), events); });
  backend->Start(BatchOf(requests[2]), events);
  backend.reset();
  ASSERT_EQ(computed.count(), 3u);
  EXPECT_FALSE(computed.IsHere(0));
  EXPECT_TRUE(computed.IsHere(1));
  EXPECT_FALSE(computed.IsHere(2));
}

TEST(RunInline, StepOfAnotherThreadStartsItsBatchesOnTheLane) {
  Threads computed;
  Events events;
  auto backend = MakeBackend(OneModel(computed.Noting()));
  TestRequest request;
  const auto start = [&] { backend->Start(BatchOf(request), events); };
  EXPECT_EQ(RunInline(*backend, [&] { std::thread(start).join(); }),
            InlineRun::kStepped);
  backend.reset();
  ASSERT_EQ(computed.count(), 1u);
  EXPECT_FALSE(computed.IsHere(0));
}

TEST(RunInline, StepThatStartsNothingReturnsTheLane) {
  Events events;
  auto backend = MakeBackend(OneModel());
  EXPECT_EQ(RunInline(*backend, [] {}), InlineRun::kStepped);
  TestRequest request;
  backend->Start(BatchOf(request), events);
  events.WaitForFinished(1);
}

TEST(RunInline, BusyLaneIsNotLent) {
  std::latch computes(1);
  std::latch may_end(1);
  Events events;
  TestRequest request;
  auto backend = MakeBackend(OneModel([&](const Batch&) -> Outcome {
    computes.count_down();
    may_end.wait();
    return {};
  }));
  backend->Start(BatchOf(request), events);
  computes.wait();
  EXPECT_EQ(backend->RunInline([] { ADD_FAILURE() << "it stepped"; }),
            InlineRun::kNotLent);
  may_end.count_down();
}

TEST(RunInline, LaneThatIsLentRunsNothingElse) {
  std::atomic<int> computing{0};
  Events events;
  const auto compute = [&](const Batch&) -> Outcome {
    EXPECT_EQ(++computing, 1);
    std::this_thread::yield();
    --computing;
    return {};
  };
  auto backend = MakeBackend(OneModel(compute), {.max_poll = Duration(0)});
  constexpr int kBatches = 1000;
  std::vector<TestRequest> requests(kBatches);
  for (int i = 0; i < kBatches; ++i) {
    const auto start = [&] {
      backend->Start(BatchOf(requests[static_cast<size_t>(i)]), events);
    };
    if (i % 2 == 0 || backend->RunInline(start) == InlineRun::kNotLent) {
      start();
    }
    events.WaitForFinished(i + 1);
  }
}

// --- on a device that models share -------------------------------------------

class Neighbour final : public GateClient {
 public:
  explicit Neighbour(GateShare& its_share) : GateClient(its_share) {}
  void GateFree() override {}
};

class SharedDevice : public ::testing::Test {
 protected:
  // Whether another model's lane is let in at `now`; then it leaves again.
  bool LetsInAt(TimePoint now) {
    const bool is_let_in = gate_.TryEnter(neighbour_, now).is_let_in;
    gate_.Leave(neighbour_, Duration(0), now);
    return is_let_in;
  }

  WeightedGate gate_{/*permits=*/1};
  GateShare share_;
  Neighbour neighbour_{share_};
  Threads computed_;
  Events events_;
  TestRequest request_;
};

TEST_F(SharedDevice, BatchThatIsNotLetInIsTheExecutors) {
  auto backend = MakeBackend(OneModel(computed_.Noting()), {.gate = &gate_});
  ASSERT_TRUE(gate_.TryEnter(neighbour_, Clock::Steady().Now()).is_let_in);
  EXPECT_EQ(
      RunInline(*backend, [&] { backend->Start(BatchOf(request_), events_); }),
      InlineRun::kStepped);
  EXPECT_EQ(computed_.count(), 0u) << "it waited for its turn";
  gate_.Leave(neighbour_, Duration(0), Clock::Steady().Now());
  events_.WaitForFinished(1);
  EXPECT_FALSE(computed_.IsHere(0));
}

TEST_F(SharedDevice, StepThatStartsNothingTakesNoPlace) {
  auto backend = MakeBackend(OneModel(), {.gate = &gate_});
  EXPECT_EQ(RunInline(*backend,
                      [&] { EXPECT_TRUE(LetsInAt(Clock::Steady().Now())); }),
            InlineRun::kStepped);
  EXPECT_TRUE(LetsInAt(Clock::Steady().Now()));
}

TEST_F(SharedDevice, BatchLeavesItsPlace) {
  auto backend = MakeBackend(OneModel(computed_.Noting()), {.gate = &gate_});
  RunInline(*backend, [&] { backend->Start(BatchOf(request_), events_); });
  EXPECT_TRUE(computed_.IsHere(0));
  EXPECT_TRUE(LetsInAt(Clock::Steady().Now() + 2 * WeightedGate::kKeep));
}

TEST_F(SharedDevice, BatchThatCannotBeStagedLeavesItsPlace) {
  auto model = std::make_unique<ScriptedModel>();
  model->on_stage = [](const Batch&) -> Outcome {
    return {absl::StatusCode::kInternal, "no"};
  };
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(std::move(model));
  auto backend = MakeBackend(std::move(models), {.gate = &gate_});
  RunInline(*backend, [&] { backend->Start(BatchOf(request_), events_); });
  EXPECT_EQ(request_.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(LetsInAt(Clock::Steady().Now() + 2 * WeightedGate::kKeep));
}

// --- for which models --------------------------------------------------------

Duration MaxInlineRun(const ModelSpec& spec, bool runs_on_any_thread = true,
                      size_t lanes = 1, int32_t slots_per_lane = 1,
                      int32_t staging_places = 1) {
  std::vector<std::unique_ptr<HostModel>> models;
  for (size_t i = 0; i < lanes; ++i) {
    auto model = std::make_unique<ScriptedModel>();
    model->spec_of_rows = spec;
    model->on_any_thread = runs_on_any_thread;
    model->places = staging_places;
    models.push_back(std::move(model));
  }
  return MakeBackend(std::move(models), {.slots_per_lane = slots_per_lane,
                                         .max_inline_run = Milliseconds(1)})
      ->max_inline_run();
}

TEST(RunInline, IsForModelsWhoseBatchesMayRunHereAndAreOfKnownLength) {
  EXPECT_EQ(MaxInlineRun(RowSpec()), Milliseconds(1));
  EXPECT_EQ(MaxInlineRun(RowSpec(), /*runs_on_any_thread=*/false), Duration(0));
  EXPECT_EQ(MaxInlineRun(RowSpec(), true, /*lanes=*/2), Duration(0));
  EXPECT_EQ(MaxInlineRun(RowSpec(), true, 1, /*slots_per_lane=*/2),
            Duration(0));
  EXPECT_EQ(MaxInlineRun(RowSpec(), true, 1, 2, /*staging_places=*/2),
            Milliseconds(1))
      << "which are staged ahead";
  EXPECT_EQ(MaxInlineRun(RowSpec(kAnySize)), Duration(0));
  ModelSpec texts = RowSpec();
  texts.inputs[0].type = DataType::kBytes;
  EXPECT_EQ(MaxInlineRun(texts), Duration(0));
}

TEST(RunInline, LaneIsNeverLentWhereItMayNotBe) {
  auto backend = MakeBackend(OneModel(), {.max_inline_run = Duration(0)});
  EXPECT_EQ(backend->RunInline([] { ADD_FAILURE() << "it stepped"; }),
            InlineRun::kNotLent);
}

}  // namespace
}  // namespace ferry
